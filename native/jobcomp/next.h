/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads another jobcomp plugin, [jobcomp] next, to which calls are passed on: Slurm itself loads only one. */
#ifndef SLURMHOOKS_NEXT_H
#define SLURMHOOKS_NEXT_H

#include <stdint.h>

/* The functions of that plugin; all NULL if there is none. */
struct slurmhooks_next {
    void *handle;
    int (*fini)(void);
    int (*set_location)(char *location); /* from 23.02 on without this argument */
    int (*record_end)(void *job, uint32_t event);
    int (*record_start)(void *job, uint32_t event);
    void *(*get_jobs)(void *condition);
};

/*
 * Load jobcomp_NAME.so from PluginDir as Slurm does, unless other users could have written it, and run its init().
 *
 * IN folders  of PluginDir, separated by colons
 * RET SLURM_SUCCESS, or SLURM_ERROR with the reason in the log
 */
int slurmhooks_next_open(struct slurmhooks_next *next, const char *name, const char *folders);

/* Run the plugin's fini(), and unload it. */
void slurmhooks_next_close(struct slurmhooks_next *next);

#endif
