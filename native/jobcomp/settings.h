/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads [jobcomp] of slurmhooks.toml by starting a Python process. */
#ifndef SLURMHOOKS_JOBCOMP_SETTINGS_H
#define SLURMHOOKS_JOBCOMP_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "jobcomp/spool.h"

struct slurmhooks_settings {
    char next[64];        /* the name of the plugin that calls are passed on to; empty: none */
    char spool[PATH_MAX]; /* its folder */
    uint64_t limit;       /* its largest size in bytes */
    enum slurmhooks_fsync fsync;
};

/*
 * Begin to read the settings, so that slurmhooks_read_settings(), which must be the next call, waits for less time.
 * Called again, it does nothing.
 */
void slurmhooks_begin_settings(const char *state_save_location);

/*
 * Read the settings. Takes a tenth of a second.
 *
 * OUT settings  the defaults if false is returned
 * RET false, with the reason in the log, if the file is wrong or Python cannot be started
 */
bool slurmhooks_read_settings(struct slurmhooks_settings *settings, const char *state_save_location);

#endif
