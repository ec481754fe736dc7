/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a prolog failed, where users look for it; a build with public headers only leaves it to the log. */
#ifndef SLURMHOOKS_REASON_H
#define SLURMHOOKS_REASON_H

#include <stdint.h>

/*
 * Before slurmctld requeues or ends a job: note the reason in its system comment, which scontrol and sacct show, and
 * print it on the terminal of srun or salloc. Takes slurmctld's locks.
 */
void slurmhooks_say_reason(uint32_t job_id, const char *text);

/* After that: note it as the reason for which the job waits, which squeue shows until the job starts again. */
void slurmhooks_keep_reason(uint32_t job_id, const char *text);

#endif
