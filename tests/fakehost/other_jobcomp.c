/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A foreign jobcomp plugin, to which ours passes its calls on; it logs them. */
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <stddef.h>
#include <stdint.h>

#include "log.h"

const char plugin_name[] = "another jobcomp plugin";
const char plugin_type[] = "jobcomp/other";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int init(void)
{
    slurm_info("other: init");
    return SLURM_SUCCESS;
}

extern int fini(void)
{
    slurm_info("other: fini");
    return SLURM_SUCCESS;
}

extern int jobcomp_p_set_location(void)
{
    slurm_info("other: set_location");
    return SLURM_SUCCESS;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
extern int jobcomp_p_record_job_end(void *job, uint32_t event)
{
    slurm_info("other: job_end %d %u", job != NULL, event);
    return SLURM_ERROR;
}

extern int jobcomp_p_record_job_start(void *job, uint32_t event)
{
    slurm_info("other: job_start %d %u", job != NULL, event);
    return SLURM_SUCCESS;
}
#else
extern int jobcomp_p_log_record(void *job)
{
    slurm_info("other: job_end %d", job != NULL);
    return SLURM_ERROR;
}
#endif

extern void *jobcomp_p_get_jobs(void *condition)
{
    return condition;
}
