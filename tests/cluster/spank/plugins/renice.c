/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A C plugin for comparison: what spank(8) and the README of slurm-spank-plugins say about renice. */

#include <slurm/spank.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>

SPANK_PLUGIN(renice, 1);

static int lowest = -20, usual = 0, asked = 99;

static int number(const char *text, int *value)
{
    char *end;
    long read = strtol(text, &end, 10);
    if (*end || end == text || read < -20 || read > 20)
        return -1;
    *value = (int)read;
    return 0;
}

static int take(int val, const char *optarg, int remote)
{
    (void)val, (void)remote;
    if (number(optarg, &asked)) {
        slurm_error("--renice: %s is no priority", optarg);
        return -1;
    }
    return 0;
}

static struct spank_option option = {"renice", "PRIO", "nice value of the tasks", 1, 0, take};

int slurm_spank_init(spank_t spank, int ac, char *av[])
{
    for (int i = 0; i < ac; i++) {
        if (!strncmp(av[i], "min_prio=", 9))
            number(av[i] + 9, &lowest);
        else if (!strncmp(av[i], "default=", 8))
            number(av[i] + 8, &usual);
    }
    return spank_option_register(spank, &option);
}

int slurm_spank_task_post_fork(spank_t spank, int ac, char *av[])
{
    (void)ac, (void)av;
    char text[64];
    pid_t pid;
    int prio = asked;
    if (prio == 99 && (spank_getenv(spank, "SLURM_RENICE", text, sizeof(text)) || number(text, &prio)))
        prio = usual;
    if (prio < lowest)
        prio = lowest;
    if (spank_get_item(spank, S_TASK_PID, &pid) != ESPANK_SUCCESS)
        return -1;
    return setpriority(PRIO_PROCESS, (id_t)pid, prio);
}
