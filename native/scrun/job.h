/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks slurmctld about the container's job, for slurmhooks.scrun.entry. */
#ifndef SLURMHOOKS_SCRUN_JOB_H
#define SLURMHOOKS_SCRUN_JOB_H

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/*
 * Tell whether a job has ended. slurmctld tells scrun too, but while an anchor stages in it closes that connection
 * unread (seen with 24.11 and 26.05), and one inside an existing allocation does not listen at all.
 *
 * RET 1 it has, or slurmctld does not know it any more; 0 it has not, or slurmctld cannot be asked
 */
static int slurmhooks_job_is_over(uint32_t job_id)
{
    job_info_msg_t *jobs = NULL;
    int over = 0;
#ifdef SLURMHOOKS_JOBS_BY_STEP_ID /* meson.build asks the compiler */
    slurm_step_id_t job = {.job_id = job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL};
#else
    uint32_t job = job_id;
#endif

    if (slurm_load_job(&jobs, job, 0))
        return errno == ESLURM_INVALID_JOB_ID;
    if (jobs->record_count)
        over = (jobs->job_array[0].job_state & JOB_STATE_BASE) >= JOB_COMPLETE;
    slurm_free_job_info_msg(jobs);
    return over;
}

#endif
