/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, forks and clones as in Slurm's programs, and commands to wait for them and to look at the process. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "memory.h"
#include "output.h"

#define THREADS 64
/* The stack size of slurmstepd's clone under contain_spank (mgr.c, STACK_SIZE). */
#define CLONE_STACK (8 * 1024 * 1024)
#define WAIT_SECONDS 30

/* Wait for a child, as slurmstepd does, and print how it ended. */
static void wait_for(const char *command, pid_t child)
{
    int status = 0;

    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror(command);
        exit(2);
    }
    if (status)
        output_failure();
    FILE *result = output_begin(command);
    output_number(result, "status", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    output_number(result, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    output_end(result);
}

void command_fork(const struct line *line, struct block block)
{
    pid_t child = fork();

    (void)line;
    if (!child) {
        run_block(block);
        /* A task calls exec() now, so that no exit handlers run. */
        _exit(output_failures() ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    wait_for("fork", child);
}

static int clone_child(void *block)
{
    run_block(*(struct block *)block);
    _exit(0);
}

/* _run_spank_func() with SlurmdParameters=contain_spank: another process in the same memory, on a stack from the heap,
 * without atfork handlers. Its parent waits. */
void command_clone(const struct line *line, struct block block)
{
    char *stack = malloc(CLONE_STACK);

    (void)line;
    if (!stack)
        abort();
    wait_for("clone", clone(clone_child, stack + CLONE_STACK, CLONE_VM | SIGCHLD, &block));
    free(stack);
}

struct start {
    struct block block;
    pthread_barrier_t *together;
};

static void *thread_main(void *argument)
{
    struct start start = *(struct start *)argument;

    if (start.together)
        pthread_barrier_wait(start.together);
    run_block(start.block);
    return NULL;
}

/* As in slurmctld of 22.05, which creates a thread for each RPC. */
void command_threads(const struct line *line, struct block block)
{
    int count = atoi(line->words[1]);
    pthread_t threads[THREADS];
    pthread_barrier_t together;
    struct start start = {block, &together};

    if (count < 1 || count > THREADS)
        script_wrong(line, "1 to 64 threads");
    pthread_barrier_init(&together, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, thread_main, &start))
            abort();
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
}

static pthread_t background[THREADS];
static struct start background_start[THREADS];
static int background_count;

void command_background(const struct line *line, struct block block)
{
    if (background_count == THREADS)
        script_wrong(line, "too many threads");
    background_start[background_count] = (struct start){block, NULL};
    if (pthread_create(&background[background_count], NULL, thread_main, &background_start[background_count]))
        abort();
    background_count++;
}

void command_join(const struct line *line)
{
    (void)line;
    while (background_count)
        pthread_join(background[--background_count], NULL);
}

/* RET resident memory in KiB. */
static long resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        abort();
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

void command_repeat(const struct line *line, struct block block)
{
    int count = atoi(line->words[1]);
    long before = resident();

    output_quiet(1);
    for (int i = 0; i < count; i++)
        run_block(block);
    int failed = output_quiet(0);
    FILE *result = output_begin("repeat");
    output_number(result, "failed", failed);
    output_number(result, "grown_kib", resident() - before);
    output_end(result);
}

static struct block at_exit;

static void run_at_exit(void)
{
    run_block(at_exit);
}

/* As srun, sbatch and salloc, which make their last call of SPANK from atexit(). */
void command_atexit(const struct line *line, struct block block)
{
    (void)line;
    at_exit = block;
    atexit(run_at_exit);
}

void wait_a_little(const struct line *line, int waited)
{
    if (waited == WAIT_SECONDS * 100)
        script_wrong(line, "it did not happen within 30 s");
    usleep(10000);
}

/* Wait until a file exists, which a handler may create. */
void command_await(const struct line *line)
{
    struct stat status;

    for (int waited = 0; stat(line->words[1], &status); waited++)
        wait_a_little(line, waited);
}

/* Repeat a block until a file exists. */
void command_until(const struct line *line, struct block block)
{
    struct stat status;

    for (int waited = 0; stat(line->words[1], &status); waited++) {
        wait_a_little(line, waited);
        run_block(block);
    }
}

void command_touch(const struct line *line)
{
    FILE *file = fopen(line->words[1], "we");

    if (!file)
        script_wrong(line, "cannot create it");
    fclose(file);
}

void command_rename(const struct line *line)
{
    if (rename(line->words[1], line->words[2]))
        script_wrong(line, "cannot rename it");
}

void command_close_fd(const struct line *line)
{
    for (int i = 1; i < line->count; i++)
        close(atoi(line->words[i]));
}

void command_getenv(const struct line *line)
{
    FILE *result = output_begin("getenv");

    output_text(result, "value", getenv(line->words[1]));
    output_end(result);
}

void command_balance(const struct line *line)
{
    FILE *result = output_begin("balance");

    (void)line;
    output_number(result, "alive", memory_balance());
    output_end(result);
}

/* RET whether a file whose name contains this text is mapped into the process. */
static int is_mapped(const char *part)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char text[4096];
    int mapped = 0;

    if (!file)
        abort();
    while (fgets(text, sizeof(text), file))
        mapped |= strstr(text, part) != NULL;
    fclose(file);
    return mapped;
}

void command_await_mapped(const struct line *line)
{
    for (int waited = 0; !is_mapped(line->words[1]); waited++)
        wait_a_little(line, waited);
}

void command_mapped(const struct line *line)
{
    FILE *result = output_begin("mapped");
    output_number(result, "found", is_mapped(line->words[1]));
    output_end(result);
}

void command_faults(const struct line *line)
{
    struct rusage usage;

    (void)line;
    getrusage(RUSAGE_SELF, &usage);
    FILE *result = output_begin("faults");
    output_number(result, "minor", usage.ru_minflt);
    output_end(result);
}
