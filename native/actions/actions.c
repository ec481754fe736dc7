/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What periodic handlers do to jobs and nodes: calls of libslurm, as the user of the process. Loaded by
 * slurmhooks/slurmctld/libslurm.py with ctypes.
 *
 * Each function that acts returns 0, or an error number of Slurm. It may wait for slurmctld, up to MessageTimeout and
 * its retries.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "wire/wire.h"

#ifdef SLURMHOOKS_NOTIFIES_STEPS /* meson.build checks this: from 26.05 on jobs are named by step ids */
typedef slurm_step_id_t job_name;
#define STEP SLURM_STEP_ID_INITIALIZER

static job_name named(uint32_t job_id)
{
    slurm_step_id_t job = STEP;
    job.job_id = job_id;
    return job;
}
#else
#define STEP {.step_het_comp = NO_VAL}
typedef uint32_t job_name;

static job_name named(uint32_t job_id)
{
    return job_id;
}
#endif

/* RET what a function of libslurm has reported. */
static int result(int rc)
{
    if (!rc)
        return 0;
    return errno ? errno : SLURM_ERROR;
}

/* RET the same, or the first error of a task of the array. IN tasks: NULL if there are none. */
static int result_of_tasks(int rc, job_array_resp_msg_t *tasks)
{
    rc = result(rc);
    for (uint32_t i = 0; !rc && tasks && i < tasks->job_array_count; i++)
        rc = (int)tasks->error_code[i];
    slurm_free_job_array_resp(tasks);
    return rc;
}

static int update_job(job_desc_msg_t *update, const char *job)
{
    job_array_resp_msg_t *tasks = NULL;

    update->job_id_str = (char *)job;
    int rc = slurm_update_job2(update, &tasks);
    return result_of_tasks(rc, tasks);
}

/* Read slurm.conf. IN file: NULL for the default. */
extern void slurmhooks_open_slurm(const char *file)
{
    setenv("SLURM_BITSTR_LEN", "0", 1); /* libslurm shall not shorten the list of an array's tasks */
    slurm_init(file);
}

/*
 * Find out which tasks of a job array wait in its common record. IN job_id: the id of that record, array: of the array.
 * OUT name: what Slurm's functions call these tasks, such as "17_1-3,5", freed with free(); NULL if none waits.
 */
extern int slurmhooks_waiting_tasks(uint32_t job_id, uint32_t array, char **name)
{
    job_info_msg_t *jobs = NULL;

    *name = NULL;
    if (slurm_load_job(&jobs, named(job_id), SHOW_ALL))
        return result(SLURM_ERROR);
    for (uint32_t i = 0; i < jobs->record_count && !*name; i++) {
        const char *tasks = jobs->job_array[i].array_task_str;
        if (jobs->job_array[i].job_id == job_id && tasks &&
            asprintf(name, "%u_%.*s", array, (int)strcspn(tasks, "%"), tasks) < 0)
            *name = NULL;
    }
    slurm_free_job_info_msg(jobs);
    return *name ? 0 : ESLURM_INVALID_JOB_ID;
}

/* IN job: as users write it, such as "17" or "17_4". */
extern int slurmhooks_cancel(const char *job)
{
    return result(slurm_kill_job2(job, SIGKILL, 0, NULL));
}

/* Hold a pending job so that only an operator can release it. */
extern int slurmhooks_hold(const char *job)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    update.priority = 0;
    return update_job(&update, job);
}

/* Set the admin_comment of a job. */
extern int slurmhooks_note(const char *job, const char *comment)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    update.admin_comment = (char *)comment;
    return update_job(&update, job);
}

/* Release a job that a user or an operator holds. */
extern int slurmhooks_release(const char *job)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    update.priority = INFINITE;
    return update_job(&update, job);
}

/* End a running job, and let it wait again. */
extern int slurmhooks_requeue(const char *job)
{
    job_array_resp_msg_t *tasks = NULL;

    int rc = slurm_requeue2((char *)job, JOB_RUNNING, &tasks);
    return result_of_tasks(rc, tasks);
}

/* IN writes: an answer of a handler, see wire.h; it is checked before anything is sent. */
extern int slurmhooks_update_job(const char *job, const void *writes, size_t size)
{
    job_desc_msg_t update;
    struct slurmhooks_verdict verdict;

    slurm_init_job_desc_msg(&update);
    if (slurmhooks_apply(writes, size, &update, &verdict))
        return EINVAL;
    return update_job(&update, job); /* the few texts that were applied are not freed: libslurm exports no function */
}

/*
 * Find out whether the script of a running batch job has processes. Before that, slurmd drops lines for it without an
 * error, for example during the prolog. IN node: its first one. RET 1, or 0 if it has none, or -1 if the node has not
 * said so; if not 1, libslurm has written lines of level error to standard error.
 */
extern int slurmhooks_has_begun(uint32_t job_id, const char *node)
{
    slurm_step_id_t script = STEP;
    job_step_pids_response_msg_t *answer = NULL;
    int count = 0;

    script.job_id = job_id;
    script.step_id = SLURM_BATCH_SCRIPT;
    int rc = slurm_job_step_get_pids(&script, (char *)node, &answer);
    if (!rc && answer && answer->pid_list) {
        void *nodes = slurm_list_iterator_create(answer->pid_list);
        const job_step_pids_t *pids = slurm_list_next(nodes);
        count = pids ? (int)pids->pid_cnt : 0;
        slurm_list_iterator_destroy(nodes);
    }
    slurm_job_step_pids_response_msg_free(answer);
    return count > 0 ? 1 : !rc || rc == ESLURM_INVALID_JOB_ID ? 0 : -1; /* slurmd does not know a job in its prolog */
}

/* Write a line to a running job: to the output of its script, or to its srun. */
extern int slurmhooks_notify(uint32_t job_id, const char *text)
{
    return result(slurm_notify_job(named(job_id), (char *)text));
}

static int set_state(const char *node, uint32_t state, const char *reason)
{
    update_node_msg_t update;

    slurm_init_update_node_msg(&update);
    update.node_names = (char *)node;
    update.node_state = state;
    update.reason = (char *)reason;
#ifdef SLURMHOOKS_NAMES_USER /* meson.build checks this; later releases take the user of the connection */
    update.reason_uid = getuid();
#endif
    return result(slurm_update_node(&update));
}

extern int slurmhooks_drain(const char *node, const char *reason)
{
    return set_state(node, NODE_STATE_DRAIN, reason);
}

/* End the drain of a node, and nothing else: a node that is down remains down. */
extern int slurmhooks_undrain(const char *node)
{
    return set_state(node, NODE_STATE_UNDRAIN, NULL);
}

/* Change fields of a node. IN: texts that are NULL, and a weight of NO_VAL, are not changed. */
extern int slurmhooks_update_node(const char *node, const char *comment, const char *extra, const char *features,
                                  const char *features_act, const char *gres, uint32_t weight)
{
    update_node_msg_t update;

    slurm_init_update_node_msg(&update);
    update.node_names = (char *)node;
    update.comment = (char *)comment;
    update.extra = (char *)extra;
    update.features = (char *)features;
    update.features_act = (char *)features_act;
    update.gres = (char *)gres;
    update.weight = weight;
    return result(slurm_update_node(&update));
}

/* RET the text of an error number; not freed by the caller. */
extern const char *slurmhooks_error(int number)
{
    return slurm_strerror(number);
}
