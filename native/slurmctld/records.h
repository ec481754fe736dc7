/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and visits the records of slurmctld that handlers may ask for, in a build with Slurm's sources. */
#ifndef SLURMHOOKS_RECORDS_H
#define SLURMHOOKS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slurmctld/event.h"

/* A function that is called with one record, like Slurm's ListForF. RET a negative number to end the visit. */
typedef int slurmhooks_visit(void *record, void *argument);

/* RET the bit of a member that a row has besides those of the record, which is so large. */
#define SLURMHOOKS_ADDED(offset, size) ((uint64_t)1 << (((offset) - (size)) / 8 & 63))

/* A table. */
struct slurmhooks_records {
    const char *table; /* its name in STRUCTS of native/generate/tables.py */
    const char *key;   /* the member that is the key */
    size_t size;       /* of Slurm's struct */
    /*
     * RET the record with a key, or NULL. IN name: NULL if the key is a number. The caller compares the key again,
     * since Slurm also finds nodes by their host names. NULL: the caller visits all records.
     */
    void *(*find)(char *name, uint32_t number);
    /* Visit all records. Their order stays the same while none is added or removed. */
    void (*walk)(slurmhooks_visit *visit, void *argument);
    /* RET whether the user of a request may see a record. NULL: users may see all. */
    bool (*visible)(const void *record, const struct slurmhooks_event *event);
    /*
     * Visit the row of a record (slurmctld/rows.h), which is freed after the visit. IN needs: the members that it must
     * have besides those of the record, as bits: SLURMHOOKS_ADDED(). NULL: the record is the row.
     */
    int (*row)(void *record, uint64_t needs, slurmhooks_visit *visit, void *argument);
    /* RET as how many jobs a record counts. NULL: as one. */
    uint32_t (*jobs)(const void *record);
    /*
     * The member that names the sets to which a record belongs: a condition on it is met by the members of one set. RET
     * of set(): the set with a name, or NULL.
     */
    const char *sets;
    void *(*set)(char *name, uint32_t unused);
    bool (*in_set)(const void *set, const void *record);
    /*
     * Walks step by step, which slurmctld's locks need not be held between. RET of list(): what is walked through;
     * another address, or NULL, once it has gone with all its iterators. RET of next(): NULL at the end. An iterator
     * stays right while records come and go: none that stays is left out or repeated. NULL: there are none.
     */
    void *(*list)(void);
    void *(*begin)(void *list);
    void *(*next)(void *iterator);
    void (*end)(void *iterator);
    bool accounting; /* the association manager owns the records, so its locks are needed */
    /*
     * Records may go between two pages, and stay where they are in memory while the locks are held. The key is a
     * number.
     */
    bool moves;
};

/* RET the table with a name, or NULL */
const struct slurmhooks_records *slurmhooks_records(const char *table);

/* Take and release the locks that `find`, `walk` and `row` need besides slurmctld's own; see records.c. */
void slurmhooks_records_lock(const struct slurmhooks_records *records);
void slurmhooks_records_unlock(const struct slurmhooks_records *records);

#endif
