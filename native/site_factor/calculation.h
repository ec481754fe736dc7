/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calculates site factors: for a new job at once, for all jobs in batches and ahead of time.
 *
 * Slurm asks for the value of a job when it is submitted, and for all values before it computes priorities, once per
 * PriorityCalcPeriod. It holds its write lock of jobs both times. For one job, a worker calculates the value while the
 * lock is held. For all jobs this would take too long, so a thread calculates their values shortly before they are
 * needed, and takes locks only while it packs a batch of jobs or applies an answer.
 */
#ifndef SLURMHOOKS_CALCULATION_H
#define SLURMHOOKS_CALCULATION_H

/* Start workers and thread. RET the return code of init(), see slurmhooks_point_start(). */
int slurmhooks_calculation_start(void);

/* Stop both. */
void slurmhooks_calculation_stop(void);

/* Calculate the value of a job. slurmctld holds its write lock of jobs. */
void slurmhooks_calculate_one(void *job_record);

/* Note that Slurm uses all values now; they are calculated again shortly before the next use. */
void slurmhooks_calculation_used(void);

#endif
