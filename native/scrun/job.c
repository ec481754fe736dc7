/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scrun/job.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

int job_is_over(uint32_t job_id)
{
    job_info_msg_t *jobs = NULL;
    int over = 0;
#ifdef SLURMHOOKS_JOBS_BY_STEP_ID /* slurm_load_job() takes a step id; meson.build checks this */
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
