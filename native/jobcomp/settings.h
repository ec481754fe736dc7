/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What C needs to know of [job_end] in slurmhooks.toml: Python reads the file, in a process that lives for that. */
#ifndef SLURMHOOKS_JOBCOMP_SETTINGS_H
#define SLURMHOOKS_JOBCOMP_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobcomp/spool.h"

struct slurmhooks_settings {
    char next[64];        /* name of the plugin that calls are passed on to; empty: none */
    char spool[PATH_MAX]; /* its folder */
    uint64_t limit;       /* bytes of it */
    enum slurmhooks_fsync fsync;
};

/*
 * Read the settings; takes a tenth of a second.
 *
 * RET false: the file is wrong, or Python cannot be started. That is logged, and the settings are the defaults.
 */
bool slurmhooks_read_settings(struct slurmhooks_settings *settings, const char *state_save_location);

#endif
