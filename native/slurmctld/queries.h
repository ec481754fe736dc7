/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What handlers ask slurmctld while it waits for their answer. */
#ifndef SLURMHOOKS_QUERIES_H
#define SLURMHOOKS_QUERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One call of a plugin: what questions may be about. */
struct slurmhooks_event {
    void *job_desc;
    void *record; /* of an update, in a build with Slurm's sources; else NULL */
    bool modify;
    uint32_t uid;    /* who asks */
    uint32_t owner;  /* whose job */
    char **err_msg;  /* what the user sees; NULL: this release does not show it */
    bool unasked;    /* slurmctld calls by itself: all partitions are seen, not those that a user may name */
    uint32_t job_id; /* of slurmhooks_answer_with_locks(): the job whose record it finds; 0: none */
};

/* Whose job a record is; a build without Slurm's sources takes it for the sender's. */
uint32_t slurmhooks_record_owner(const void *record, uint32_t sender);

/*
 * Answer a question. A slurmhooks_query, see wire/client.h; the context is a struct slurmhooks_event.
 *
 * slurmctld holds its read locks meanwhile. RET false: the question makes no sense.
 */
bool slurmhooks_answer_query(void *context, const void *question, size_t length, void **answer, size_t *answer_length);

/* Answer a question in a thread that holds none of slurmctld's locks: they are taken for it. */
bool slurmhooks_answer_with_locks(void *context, const void *question, size_t length, void **answer,
                                  size_t *answer_length);

#endif
