/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "prep/private.h"

#ifdef SLURMHOOKS_SOURCE

#include "config.h"
#include "slurm/slurm.h"
#include "src/common/slurm_xlator.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "slurmctld/weak.h"

/* Declared here since its header differs between releases; 22.05 has another return type. */
extern void srun_user_message(job_record_t *job, char *text);

static const slurmctld_lock_t LOCKS = {.job = WRITE_LOCK, .node = READ_LOCK};

void slurmhooks_say_reason(uint32_t job_id, const char *text)
{
    lock_slurmctld(LOCKS);
    job_record_t *job = find_job_record(job_id);
    if (job && !xstrstr(job->system_comment, text))
        xstrfmtcat(job->system_comment, "%s%s", job->system_comment ? "\n" : "", text);
    if (job && !job->batch_flag)
        srun_user_message(job, (char *)text);
    unlock_slurmctld(LOCKS);
}

void slurmhooks_keep_reason(uint32_t job_id, const char *text)
{
    lock_slurmctld(LOCKS);
    job_record_t *job = find_job_record(job_id);
    if (job && IS_JOB_PENDING(job)) {
        xfree(job->state_desc);
        job->state_desc = xstrdup(text);
        last_job_update = time(NULL);
    }
    unlock_slurmctld(LOCKS);
}

bool slurmhooks_is_ending(void)
{
    return slurmctld_config.shutdown_time != 0;
}

#else

#include "log.h"

void slurmhooks_say_reason(uint32_t job_id, const char *text)
{
    log_error("JobId=%u: not shown to the user, as only Slurm's public headers are known: %s", job_id, text);
}

void slurmhooks_keep_reason(uint32_t job_id, const char *text)
{
    (void)job_id, (void)text;
}

bool slurmhooks_is_ending(void)
{
    return false;
}

#endif
