/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: Slurm's functions that the module of cli_filter calls, with options whose values say what Slurm's
 * parser does with them. Any text is an option's name.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 16
#define UNUSED(name) \
    void name(void); \
    void name(void)  \
    {                \
    }

static char names[MOST][32], values[MOST][32];

UNUSED(slurm_debug)
UNUSED(slurm_debug2)
UNUSED(slurm_debug3)
UNUSED(slurm_debug4)
UNUSED(slurm_error)
UNUSED(slurm_info)
UNUSED(slurm_option_table_create)
UNUSED(slurm_option_table_destroy)
UNUSED(slurm_spank_log)
UNUSED(slurm_verbose)
UNUSED(spank_get_plugin_names)
UNUSED(spank_get_plugin_option_names)
UNUSED(spank_option_get)

void slurm_xfree(void **memory);
char *slurm_option_get(void *opt, const char *name);
int slurm_option_set(void *opt, const char *name, const char *value, bool early);
bool slurm_option_reset(void *opt, const char *name);
bool slurm_option_get_next_set(void *opt, char **name, char **value, size_t *state);

void slurm_xfree(void **memory)
{
    free(*memory);
    *memory = NULL;
}

static void at_exit(void)
{
    fprintf(stderr, "at exit of the command\n");
}

static void __attribute__((constructor)) begin(void)
{
    if (getenv("AT_EXIT"))
        atexit(at_exit);
}

/* RET the index of an option, which is added if it is new. */
static int find(const char *name)
{
    int i = 0;

    while (i < MOST - 1 && names[i][0] && strcmp(names[i], name))
        i++;
    snprintf(names[i], sizeof(names[i]), "%s", name);
    return i;
}

char *slurm_option_get(void *opt, const char *name)
{
    (void)opt;
    return strdup(values[find(name)]);
}

int slurm_option_set(void *opt, const char *name, const char *value, bool early)
{
    (void)opt;
    (void)early;
    snprintf(values[find(name)], sizeof(values[0]), "%s", value); /* as Slurm, before it looks at the value */
    if (!strcmp(value, "refuse")) {
        fprintf(stderr, "sbatch: error: refused\n");
        return -1;
    }
    if (!strcmp(value, "exit")) {
        printf("a list\n");
        fprintf(stderr, "sbatch: error: ends\n");
        exit(0);
    }
    if (!strcmp(value, "crash"))
        kill(getpid(), SIGSEGV);
    while (!strcmp(value, "hang"))
        pause();
    for (int i = 0; i < 100000 && !strcmp(value, "noise"); i++)
        fprintf(stderr, "noise\n");
    if (!strcmp(value, "prints")) {
        printf("a list\n");
        fflush(stdout);
    }
    if (!strcmp(value, "zero"))
        fwrite("ze\0ro\n", 1, 6, stderr);
    return 0;
}

bool slurm_option_reset(void *opt, const char *name)
{
    (void)opt;
    values[find(name)][0] = '\0';
    return true;
}

bool slurm_option_get_next_set(void *opt, char **name, char **value, size_t *state)
{
    (void)opt;
    while (*state < MOST && !values[*state][0])
        (*state)++;
    if (*state == MOST)
        return false;
    if (!strcmp(values[*state], "late crash"))
        kill(getpid(), SIGSEGV);
    *name = strdup(names[*state]);
    *value = strcmp(values[*state], "none") ? strdup(values[*state]) : NULL;
    (*state)++;
    return true;
}
