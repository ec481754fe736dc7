/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A C plugin for comparison: the score of the line's argument, for each task. */

#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>

SPANK_PLUGIN(oom_score_adj, 1);

int slurm_spank_task_init_privileged(spank_t spank, int ac, char *av[])
{
    (void)spank;
    FILE *file = fopen("/proc/self/oom_score_adj", "w");
    if (!file)
        return -1;
    for (int i = 0; i < ac; i++)
        if (!strncmp(av[i], "oom_score_adj=", 14))
            fputs(av[i] + 14, file);
    return fclose(file);
}
