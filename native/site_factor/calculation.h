/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When site factors are calculated, and how many at once.
 *
 * Slurm asks for the value of a job when it is submitted, and before it computes all priorities, each
 * PriorityCalcPeriod. Both happen under its write lock of jobs. For one job a worker is asked meanwhile. For all of
 * them that would take too long: a thread calculates them shortly before they are needed, and takes the locks only
 * while it packs a batch of jobs and while it applies an answer.
 */
#ifndef SLURMHOOKS_CALCULATION_H
#define SLURMHOOKS_CALCULATION_H

/* RET for init(), see slurmhooks_point_start(). */
int slurmhooks_calculation_start(void);
void slurmhooks_calculation_stop(void);

/* Calculate the value of a job. IN job_record: slurmctld's write lock is held. */
void slurmhooks_calculate_one(void *job_record);

/* Note that Slurm uses the values now, so that they are calculated again before the next time. */
void slurmhooks_calculation_used(void);

#endif
