/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks slurmctld about the job of a container, for slurmhooks.entry.scrun. */
#ifndef SLURMHOOKS_SCRUN_JOB_H
#define SLURMHOOKS_SCRUN_JOB_H

#include <stdint.h>

/*
 * Ask slurmctld whether a job has ended.
 *
 * slurmctld also notifies scrun, but an anchor that is staging in closes that connection without reading (seen with
 * 24.11 and 26.05), and an anchor inside an existing allocation does not listen.
 *
 * RET 1 if the job has ended or slurmctld no longer knows it; 0 if not, or if slurmctld does not answer
 */
int job_is_over(uint32_t job_id);

#endif
