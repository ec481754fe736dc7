/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows users why a prolog has failed; a build with public headers only logs it. */
#ifndef SLURMHOOKS_REASON_H
#define SLURMHOOKS_REASON_H

#include <stdint.h>

/*
 * Add the reason to the job's system comment, which scontrol and sacct show, and print it on the terminal of srun or
 * salloc. To be called before slurmctld requeues or ends the job. Takes slurmctld's locks.
 */
void slurmhooks_say_reason(uint32_t job_id, const char *text);

/* Set the reason for which the job waits, which squeue shows until it starts again. To be called after that. */
void slurmhooks_keep_reason(uint32_t job_id, const char *text);

#endif
