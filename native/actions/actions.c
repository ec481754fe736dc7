/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What periodic rules do to jobs and nodes: calls of libslurm, as the user of the process. Loaded by
 * slurmhooks/slurmctld/actions.py with ctypes.
 *
 * Each function returns 0, or an error number of Slurm. It may wait for slurmctld, up to MessageTimeout and its
 * retries.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* RET what a function of libslurm has reported. */
static int result(int rc)
{
    if (!rc)
        return 0;
    return errno ? errno : SLURM_ERROR;
}

/* Read slurm.conf. IN file: NULL for the default. */
extern void slurmhooks_open(const char *file)
{
    slurm_init(file);
}

/* IN job: as users write it, such as "17" or "17_4". */
extern int slurmhooks_cancel(const char *job)
{
    return result(slurm_kill_job2(job, SIGKILL, 0, NULL));
}

/* Hold a pending job so that only an operator can release it. IN reason: becomes its admin_comment. */
extern int slurmhooks_hold(const char *job, const char *reason)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    update.job_id_str = (char *)job;
    update.priority = 0;
    update.admin_comment = (char *)reason;
    return result(slurm_update_job(&update));
}

/* Write a line to a running job: to the output of its script, or to its srun. */
extern int slurmhooks_notify(uint32_t job_id, const char *text)
{
#ifdef SLURMHOOKS_NOTIFIES_STEPS /* meson.build checks this */
    slurm_step_id_t job = SLURM_STEP_ID_INITIALIZER;
    job.job_id = job_id;
#else
    uint32_t job = job_id;
#endif
    return result(slurm_notify_job(job, (char *)text));
}

extern int slurmhooks_drain(const char *node, const char *reason)
{
    update_node_msg_t update;

    slurm_init_update_node_msg(&update);
    update.node_names = (char *)node;
    update.node_state = NODE_STATE_DRAIN;
    update.reason = (char *)reason;
#ifdef SLURMHOOKS_NAMES_USER /* meson.build checks this; later releases take the user of the connection */
    update.reason_uid = getuid();
#endif
    return result(slurm_update_node(&update));
}

/* RET the text of an error number; not freed by the caller. */
extern const char *slurmhooks_error(int number)
{
    return slurm_strerror(number);
}
