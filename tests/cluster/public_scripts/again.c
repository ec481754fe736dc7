/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a command of Slurm: runs its main() in a fork for each line of standard input, which is words with
 * tabs between them. To load libraries, plugins and slurm.conf takes most of the time of a command.
 * Writes the process id of the fork, then the fork's output, then a line with '\001'.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int main_fn(int argc, char **argv, char **envp);

static main_fn *command;

static _Noreturn void run(char *line, char **envp)
{
    char *words[64] = {NULL};
    int count = 0;

    for (char *word = strtok(line, "\t\n"); word && count < 63; word = strtok(NULL, "\t\n"))
        words[count++] = word;
    freopen("/dev/null", "r", stdin);
    dprintf(1, "%d\n", (int)getpid());
    exit(command(count, words, envp));
}

static int serve(int argc, char **argv, char **envp)
{
    void (*slurm_init)(const char *conf) = dlsym(RTLD_DEFAULT, "slurm_init");
    char *line = NULL;
    size_t size = 0;

    (void)argc;
    (void)argv;
    unsetenv("LD_PRELOAD");
    slurm_init(NULL);
    while (getline(&line, &size, stdin) > 0) {
        pid_t child = fork();

        if (child == 0)
            run(line, envp);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 1;
        dprintf(1, "\001\n");
    }
    return 0;
}

int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    int (*next)(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *) =
        dlsym(RTLD_NEXT, "__libc_start_main");

    command = main;
    return next(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
