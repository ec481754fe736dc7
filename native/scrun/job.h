/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks slurmctld about the container's job, for slurmhooks.scrun.entry. */
#ifndef SLURMHOOKS_SCRUN_JOB_H
#define SLURMHOOKS_SCRUN_JOB_H

#include <stdint.h>

/*
 * Tell whether a job has ended. slurmctld tells scrun too, but while an anchor stages in it closes that connection
 * unread (seen with 24.11 and 26.05), and one inside an existing allocation does not listen at all.
 *
 * RET 1 it has, or slurmctld does not know it any more; 0 it has not, or slurmctld cannot be asked
 */
int job_is_over(uint32_t job_id);

#endif
