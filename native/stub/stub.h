/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_STUB_H
#define SLURMHOOKS_STUB_H

#include "embed/core.h"

/*
 * Call an entry point in Python, opening the core library first if need be.
 *
 * As slurmhooks_call_f; also -1, with the reason in Slurm's log, when the core library or libpython
 * cannot be opened. May be called from any thread.
 */
__attribute__((visibility("hidden"))) int stub_call(struct slurmhooks_entry *entry, struct slurmhooks_answer *answer,
                                                    const intptr_t *arguments, int count);

/* Open the core library now, where there is time: an entry point need not wait for it then. Starts no Python. */
__attribute__((visibility("hidden"))) void stub_open(void);

#define STUB_CALL(entry, answer, ...)                         \
    stub_call(entry, answer, (const intptr_t[]){__VA_ARGS__}, \
              (int)(sizeof((const intptr_t[]){__VA_ARGS__}) / sizeof(intptr_t)))

#endif
