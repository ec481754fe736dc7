/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin for PrioritySiteFactorPlugin=site_factor/python: handlers in workers calculate site factors. Runs no
 * Python itself.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include "entry.h"
#include "log.h"
#include "site_factor/calculation.h"

const char plugin_name[] = "Site factor Python plugin (slurmhooks)";
const char plugin_type[] = "site_factor/python";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

#ifdef SLURMHOOKS_SOURCE

extern int init(void)
{
    LEAVES_ERRNO(errno);
    return slurmhooks_calculation_start();
}

extern int fini(void)
{
    LEAVES_ERRNO(errno);
    slurmhooks_calculation_stop();
    return SLURM_SUCCESS;
}

/* Called for a new or requeued job. slurmctld holds its write lock of jobs. */
extern void site_factor_p_set(void *job_record)
{
    LEAVES_ERRNO(errno);
    slurmhooks_calculate_one(job_record);
}

/* Called when slurmctld computes all priorities. It holds its write lock of jobs, so nothing here may wait. */
extern void site_factor_p_update(void)
{
    LEAVES_ERRNO(errno);
    slurmhooks_calculation_used();
}

#else

/* Without Slurm's sources job_record_t is unknown: all jobs keep their values, and slurmctld starts. */
extern int init(void)
{
    LEAVES_ERRNO(errno);
    log_error("site_factor/python does nothing: it was built with Slurm's public headers only, and job records are not "
              "among them; run 'slurmhooks build --fetch-source', or --slurm-source with the sources of exactly the "
              "installed release, and install the result");
    return SLURM_SUCCESS;
}

extern int fini(void)
{
    LEAVES_ERRNO(errno);
    return SLURM_SUCCESS;
}

extern void site_factor_p_set(void *job_record)
{
    LEAVES_ERRNO(errno);
    (void)job_record;
}

extern void site_factor_p_update(void)
{
    LEAVES_ERRNO(errno);
}

#endif

extern void site_factor_p_reconfig(void)
{
    LEAVES_ERRNO(errno);
}
