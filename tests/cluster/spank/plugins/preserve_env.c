/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A C plugin for comparison: what the README of slurm-spank-plugins says about preserve-env. */

#define _GNU_SOURCE
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SPANK_PLUGIN(preserve_env, 1);

enum { MOST = 1000 };

static int given;
extern char **environ;

static int starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* Copy the variables that begin with a prefix, because writing to an environment moves it. */
static int matching(char **env, const char *prefix, char *copies[MOST])
{
    int count = 0;
    for (; *env && count < MOST; env++)
        if (starts(*env, prefix))
            copies[count++] = strdup(*env);
    return count;
}

static int take(int val, const char *optarg, int remote)
{
    (void)val, (void)optarg;
    given = 1;
    if (remote)
        return 0;
    char *copies[MOST];
    int count = matching(environ, "SLURM_", copies);
    for (int i = 0; i < count; i++) {
        char name[1024];
        char *value = strchr(copies[i], '=');
        if (starts(copies[i], "SLURM_RLIMIT") || starts(copies[i], "SLURM_UMASK") || starts(copies[i], "SLURM_PRIO"))
            continue;
        *value++ = '\0';
        snprintf(name, sizeof(name), "SAVED_%s", copies[i]);
        setenv(name, value, 1);
    }
    return 0;
}

static struct spank_option option = {"preserve-slurm-env", NULL, "keep the variables of salloc's shell", 0, 0, take};

int slurm_spank_init(spank_t spank, int ac, char *av[])
{
    (void)ac, (void)av;
    return spank_option_register(spank, &option);
}

int slurm_spank_task_init(spank_t spank, int ac, char *av[])
{
    (void)ac, (void)av;
    char **env, *copies[MOST];
    if (!given)
        return 0;
    if (spank_get_item(spank, S_JOB_ENV, &env) != ESPANK_SUCCESS)
        return -1;
    int count = matching(env, "SLURM_", copies);
    for (int i = 0; i < count; i++)
        spank_unsetenv(spank, strtok(copies[i], "="));
    spank_get_item(spank, S_JOB_ENV, &env);
    count = matching(env, "SAVED_SLURM_", copies);
    for (int i = 0; i < count; i++) {
        char *value = strchr(copies[i], '=');
        *value++ = '\0';
        spank_setenv(spank, copies[i] + strlen("SAVED_"), value, 1);
        spank_unsetenv(spank, copies[i]);
    }
    return 0;
}
