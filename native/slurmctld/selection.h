/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which records of a table a question is about, and what of them the answer contains. */
#ifndef SLURMHOOKS_SELECTION_H
#define SLURMHOOKS_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slurmctld/records.h"
#include "wire/wire.h"

/* A condition: a member equals a text, or equals a number in the bits of a mask. */
struct slurmhooks_condition {
    const struct slurmhooks_member *member;
    uint64_t value, mask;
    const char *text;
    const void *set; /* instead: the record belongs to this; NULL: to none */
    bool of_set;
    bool added; /* the member is one that a row has besides those of the record */
};

struct slurmhooks_selection {
    const struct slurmhooks_records *records;
    const struct slurmhooks_member *key; /* the member that is the key */
    uint32_t table;
    struct slurmhooks_condition conditions[SLURMHOOKS_MAX_CONDITIONS];
    size_t count;
    const uint32_t *members; /* those that the answer contains; NULL: the first member_count */
    uint32_t member_count;
    uint64_t needs; /* the members that a row must have besides those of the record, see slurmhooks_added() */
};

/* Begin a selection: all records, with all members. RET false if there is no such table. */
bool slurmhooks_selection_open(struct slurmhooks_selection *selection, uint32_t table);

/* Read an item of a question: the members, or a condition. RET false if it is invalid. */
bool slurmhooks_selection_read(struct slurmhooks_selection *selection, const struct slurmhooks_item *item);

/* Add the condition that the key equals this name, or this number. RET false if the key is of the other kind. */
bool slurmhooks_selection_key(struct slurmhooks_selection *selection, const char *name, uint32_t number);

/* The items of the question are read. */
void slurmhooks_selection_close(struct slurmhooks_selection *selection);

/*
 * RET whether a record or row meets the conditions. IN of_row: whether to check those on members that a row adds, or
 * the others.
 */
bool slurmhooks_selection_takes(const struct slurmhooks_selection *selection, const void *object, bool of_row);

#endif
