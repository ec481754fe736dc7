/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers the questions that handlers ask while slurmctld waits for their answer. */
#ifndef SLURMHOOKS_QUERIES_H
#define SLURMHOOKS_QUERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/late.h"
#include "slurmctld/event.h"

/* RET the owner of a job. A build without Slurm's sources cannot read the record, and returns the sender. */
uint32_t slurmhooks_record_owner(const void *record, uint32_t sender);

/*
 * Answer a question: the slurmhooks_query of client/client.h. slurmctld holds its locks.
 *
 * IN context  a struct slurmhooks_event
 */
bool slurmhooks_answer_query(void *context, const void *question, size_t length, void **answer, size_t *answer_length);

/* Answers questions about the request of a struct slurmhooks_whose, and takes slurmctld's locks for that. */
extern const struct slurmhooks_late slurmhooks_late_queries;

/* As slurmhooks_answer_query(), for a thread that does not hold slurmctld's locks: takes them for the question. */
bool slurmhooks_answer_with_locks(void *context, const void *question, size_t length, void **answer,
                                  size_t *answer_length);

#endif
