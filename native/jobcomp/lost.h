/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be written even if the spool has filled the disk: the jobs whose records it could not keep, in lost.jsonl,
 * and what became of the others.
 */
#ifndef SLURMHOOKS_LOST_H
#define SLURMHOOKS_LOST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Create the file in a folder, and reserve disk space for it, so that it can be written when the spool has filled the
 * disk. Not every file system can reserve space. IN limit: the largest size of the spool in bytes.
 */
void slurmhooks_lost_reserve(int folder, uint64_t limit);

/* Add a job. IN hook: its name. RET whether the line was written; it may be even if the spool is full. */
bool slurmhooks_lost_add(int folder, const char *hook, uint32_t job_id, const char *reason);

/*
 * Create the file in which readers note what became of the records of a segment. Its first block is the room for notes
 * on a full disk: without them, a record whose handler ends its process would be tried again and again.
 */
void slurmhooks_state_reserve(int folder, unsigned segment);

#endif
