/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What only Slurm's sources tell: where users look for the reason of a failure, and whether slurmctld ends. */
#ifndef SLURMHOOKS_REASON_H
#define SLURMHOOKS_REASON_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Add the reason to the job's system comment, which scontrol and sacct show, and print it on the terminal of srun or
 * salloc. To be called before slurmctld requeues or ends the job. Takes slurmctld's locks.
 */
void slurmhooks_say_reason(uint32_t job_id, const char *text);

/* Set the reason for which the job waits, which squeue shows until it starts again. To be called after that. */
void slurmhooks_keep_reason(uint32_t job_id, const char *text);

/*
 * RET whether slurmctld ends or reconfigures itself. Its callbacks may crash then: they start and requeue jobs, and the
 * threads that do the rest have ended. A build with public headers only cannot tell, and returns false.
 */
bool slurmhooks_is_ending(void);

#endif
