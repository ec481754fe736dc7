/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that need Slurm's sources: they show users the reason of a failure, and tell whether slurmctld is ending.
 */
#ifndef SLURMHOOKS_PREP_PRIVATE_H
#define SLURMHOOKS_PREP_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Add the reason to the job's system comment, which scontrol and sacct show, and print it on the terminal of srun or
 * salloc. Call it before slurmctld requeues or ends the job. Takes slurmctld's locks.
 */
void slurmhooks_say_reason(uint32_t job_id, const char *text);

/*
 * Set the reason for which the job waits, which squeue shows until the job starts again. Call it after slurmctld has
 * requeued the job.
 */
void slurmhooks_keep_reason(uint32_t job_id, const char *text);

/*
 * RET whether slurmctld is ending or reconfiguring. Its callbacks may crash then, since they start and requeue jobs
 * with the help of threads that have already ended. A build with public headers only cannot tell, and returns false.
 */
bool slurmhooks_is_ending(void);

#endif
