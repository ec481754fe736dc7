/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm has one jobcomp plugin: ours passes each call on to another one, [job_end] next. */
#ifndef SLURMHOOKS_NEXT_H
#define SLURMHOOKS_NEXT_H

#include <stdint.h>

/* Its functions; all NULL: there is none. */
struct slurmhooks_next {
    void *handle;
    int (*fini)(void);
    int (*set_location)(char *location); /* without the argument from 23.02 on */
    int (*record_end)(void *job, uint32_t event);
    int (*record_start)(void *job, uint32_t event);
    void *(*get_jobs)(void *condition);
};

/*
 * Open jobcomp_NAME.so of a PluginDir as Slurm does, unless somebody else could have written it, and run its init().
 *
 * IN folders: separated by colons. RET SLURM_SUCCESS, or SLURM_ERROR: that is logged.
 */
int slurmhooks_next_open(struct slurmhooks_next *next, const char *name, const char *folders);

/* Run its fini(), and close it. */
void slurmhooks_next_close(struct slurmhooks_next *next);

#endif
