/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A core library of another build, as it remains after an unfinished upgrade. */
#include <stdlib.h>

#include "embed/core.h"

static int call(struct slurmhooks_entry *entry, struct slurmhooks_outcome *outcome, const intptr_t *arguments,
                int count)
{
    (void)entry;
    (void)outcome;
    (void)arguments;
    (void)count;
    abort();
}

const struct slurmhooks_core slurmhooks_core = {
    .abi = SLURMHOOKS_CORE_ABI + 1,
    .call = call,
};
