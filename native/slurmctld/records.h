/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of slurmctld that handlers may ask for; in a build with Slurm's sources. */
#ifndef SLURMHOOKS_RECORDS_H
#define SLURMHOOKS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slurmctld/queries.h"

/* Sees one record. RET negative: the last one. Slurm's ListForF. */
typedef int slurmhooks_visit(void *record, void *argument);

/* One table. */
struct slurmhooks_records {
    const char *table; /* its name in STRUCTS of native/generate/tables.py */
    const char *key;   /* the member that is the key */
    size_t size;       /* of Slurm's struct */
    /*
     * RET the record of a key, or NULL. IN name: NULL if the key is a number. What has another key is dropped: Slurm
     * also finds nodes by their host names. No function: all records are visited.
     */
    void *(*find)(char *name, uint32_t number);
    /* Visit all records in an order that stays the same while none comes or goes. */
    void (*walk)(slurmhooks_visit *visit, void *argument);
    /* Whether the user of a request may know of a record; no function: of all. */
    bool (*visible)(const void *record, const struct slurmhooks_event *event);
    /* Visit the row of a record (slurmctld/rows.h), which lasts as long as the visit; no function: the record is it.
     */
    int (*row)(void *record, slurmhooks_visit *visit, void *argument);
    bool accounting; /* the records are the association manager's: its locks are needed */
};

/* RET the table of that name, or NULL */
const struct slurmhooks_records *slurmhooks_records(const char *table);

/* Hold what find, walk and row need beyond slurmctld's own locks; see records.c. */
void slurmhooks_records_lock(const struct slurmhooks_records *records);
void slurmhooks_records_unlock(const struct slurmhooks_records *records);

#endif
