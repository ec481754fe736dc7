/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remembers between two pages where in a list the next one begins, so that a page does not walk through all records
 * before it: slurmctld would have to wait for its locks the longer, the more jobs there are.
 */
#ifndef SLURMHOOKS_CURSORS_H
#define SLURMHOOKS_CURSORS_H

#include <stdint.h>

#include "slurmctld/records.h"

/* A place in a list. All zero: none. */
struct slurmhooks_cursor {
    uint64_t number; /* under which it is kept; random, because workers name it */
    uint64_t age;    /* of all that are kept, the one with the lowest is the oldest */
    void *list;
    void *iterator;
    const struct slurmhooks_records *records;
};

/*
 * RET the cursor that was kept under a number; or one at the first record, if there is none, or if its list has gone
 * meanwhile. The caller keeps or ends it, and holds slurmctld's locks until then.
 */
struct slurmhooks_cursor slurmhooks_cursor_take(const struct slurmhooks_records *records, uint64_t number);

/* RET the number to take the cursor by. The oldest one that is kept may have to go. */
uint64_t slurmhooks_cursor_keep(struct slurmhooks_cursor *cursor);

void slurmhooks_cursor_end(struct slurmhooks_cursor *cursor);

#endif
