/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calculates site factors: that of a new job at once, those of all jobs in batches, ahead of time.
 *
 * Slurm asks for the value of a job when it is submitted, and for all values before it computes priorities, once per
 * PriorityCalcPeriod. It holds its write lock of jobs both times. For one job a worker is asked meanwhile. For all jobs
 * that would take too long: a thread calculates their values shortly before they are needed, and takes locks only while
 * it packs a batch of jobs, and while it applies an answer.
 */
#ifndef SLURMHOOKS_CALCULATION_H
#define SLURMHOOKS_CALCULATION_H

/* Start workers and thread. RET the return code of init(), see slurmhooks_point_start(). */
int slurmhooks_calculation_start(void);

/* Stop both. */
void slurmhooks_calculation_stop(void);

/* Calculate the value of a job. slurmctld holds its write lock of jobs. */
void slurmhooks_calculate_one(void *job_record);

/* Tell that Slurm uses all values now: they are calculated again shortly before the next time. */
void slurmhooks_calculation_used(void);

#endif
