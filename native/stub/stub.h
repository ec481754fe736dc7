/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_STUB_H
#define SLURMHOOKS_STUB_H

#include "embed/core.h"

/*
 * Call an entry point in Python; open the core library first if necessary. May be called from any thread.
 *
 * Arguments and results are those of slurmhooks_call_f. If the core library or libpython cannot be opened, RET -1 with
 * the reason in Slurm's log.
 */
__attribute__((visibility("hidden"))) int stub_call(struct slurmhooks_entry *entry, struct slurmhooks_outcome *outcome,
                                                    const intptr_t *arguments, int count);

/* The folder of the core library, relative to that of the plugin or program. */
extern __attribute__((visibility("hidden"))) const char *stub_folder;

/* Open the core library ahead of time, so that the first call does not wait for it. Does not start Python. */
__attribute__((visibility("hidden"))) void stub_open(void);

/* Like stub_call(), but takes the arguments of the entry point instead of an array. */
#define STUB_CALL(entry, outcome, ...)                         \
    stub_call(entry, outcome, (const intptr_t[]){__VA_ARGS__}, \
              (int)(sizeof((const intptr_t[]){__VA_ARGS__}) / sizeof(intptr_t)))

#endif
