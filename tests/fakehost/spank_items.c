/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_get_item(): answers and fails in each context and callback as src/common/spank.c does. */
#include <slurm/slurm_version.h>

#include <stdarg.h>
#include <stdio.h>

#include "spank_handle.h"

static bool in_launcher(spank_item_t item)
{
    switch (item) {
    case S_JOB_UID:
    case S_JOB_GID:
    case S_JOB_ID:
    case S_JOB_STEPID:
    case S_JOB_ARGV:
    case S_JOB_ENV:
    case S_JOB_TOTAL_TASK_COUNT:
    case S_JOB_NNODES: return true;
    default: return false;
    }
}

/* _check_spank_item_validity() */
static spank_err_t valid(const struct spank_handle *spank, spank_item_t item)
{
    bool owner = item == S_JOB_UID || item == S_JOB_GID;

    switch (item) {
    case S_SLURM_VERSION:
    case S_SLURM_VERSION_MAJOR:
    case S_SLURM_VERSION_MINOR:
    case S_SLURM_VERSION_MICRO: return ESPANK_SUCCESS;
    default: break;
    }
    switch (spank->context) {
    case S_CTX_SLURMD: return ESPANK_NOT_AVAIL;
    case S_CTX_JOB_SCRIPT: return owner || item == S_JOB_ID ? ESPANK_SUCCESS : ESPANK_NOT_AVAIL;
    case S_CTX_LOCAL:
        if (!in_launcher(item))
            return ESPANK_NOT_REMOTE;
        return spank->has_job ? ESPANK_SUCCESS : ESPANK_NOT_AVAIL;
    case S_CTX_ALLOCATOR:
        if (owner)
            return ESPANK_NOT_AVAIL;
        return in_launcher(item) ? ESPANK_BAD_ARG : ESPANK_NOT_REMOTE;
    default: return ESPANK_SUCCESS;
    }
}

static struct fake_task *task_by_pid(pid_t pid)
{
    for (int i = 0; i < FAKE_LOCAL_TASKS; i++)
        if (fake_job.tasks[i].pid == pid)
            return &fake_job.tasks[i];
    return NULL;
}

static struct fake_task *task_by_global_id(uint32_t id)
{
    for (int i = 0; i < FAKE_LOCAL_TASKS; i++)
        if (fake_job.tasks[i].global_id == id)
            return &fake_job.tasks[i];
    return NULL;
}

/* Items of the callback's task. */
static spank_err_t task_item(const struct spank_handle *spank, spank_item_t item, va_list arguments)
{
    const struct fake_task *task = spank->task;

    if (!task || (item == S_TASK_EXIT_STATUS && !task->exited))
        return ESPANK_NOT_TASK;
    switch (item) {
    case S_TASK_ID: *va_arg(arguments, int *) = task->id; break;
    case S_TASK_GLOBAL_ID: *va_arg(arguments, uint32_t *) = task->global_id; break;
    case S_TASK_EXIT_STATUS: *va_arg(arguments, int *) = task->exit_status; break;
    default: *va_arg(arguments, pid_t *) = task->pid;
    }
    return ESPANK_SUCCESS;
}

/* Items that convert one number into another. */
static spank_err_t conversion(const struct spank_handle *spank, spank_item_t item, va_list arguments)
{
    bool by_pid = item == S_JOB_PID_TO_GLOBAL_ID || item == S_JOB_PID_TO_LOCAL_ID;
    uint32_t from = va_arg(arguments, uint32_t);
    uint32_t *to = va_arg(arguments, uint32_t *);
    const struct fake_task *task = NULL;

    *to = (uint32_t)-1;
    if (by_pid && !fake_phase(spank, "task_post_fork", "task_exit", "exit", NULL))
        return ESPANK_NOT_EXECD;
    if (item == S_JOB_GLOBAL_TO_LOCAL_ID && from >= FAKE_TOTAL_TASKS)
        return ESPANK_BAD_ARG;
    if (by_pid)
        task = task_by_pid((pid_t)from);
    else if (item == S_JOB_GLOBAL_TO_LOCAL_ID)
        task = task_by_global_id(from);
    else if (from < FAKE_LOCAL_TASKS)
        task = &fake_job.tasks[from];
    if (!task)
        return ESPANK_NOEXIST;
    bool local = item == S_JOB_PID_TO_LOCAL_ID || item == S_JOB_GLOBAL_TO_LOCAL_ID;
    *to = local ? (uint32_t)task->id : task->global_id;
    return ESPANK_SUCCESS;
}

/* RET the release of the headers, or a part of it, as Slurm writes it: 22.05.8. */
static const char *version(spank_item_t item)
{
    static char text[16];
    int major = SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER);
    int minor = SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER);
    int micro = SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER);

    switch (item) {
    case S_SLURM_VERSION_MAJOR: snprintf(text, sizeof(text), "%d", major); break;
    case S_SLURM_VERSION_MINOR: snprintf(text, sizeof(text), "%02d", minor); break;
    case S_SLURM_VERSION_MICRO: snprintf(text, sizeof(text), "%d", micro); break;
    default: snprintf(text, sizeof(text), "%d.%02d.%d", major, minor, micro);
    }
    return text;
}

static spank_err_t get_item(const struct spank_handle *spank, spank_item_t item, va_list arguments)
{
    static gid_t groups[] = {2001, 3001, 3002};

    switch (item) {
    case S_JOB_UID: *va_arg(arguments, uid_t *) = 2001; break;
    case S_JOB_GID: *va_arg(arguments, gid_t *) = 2002; break;
    case S_JOB_ID: *va_arg(arguments, uint32_t *) = fake_job.id; break;
    case S_JOB_STEPID: *va_arg(arguments, uint32_t *) = 3; break;
    case S_JOB_NNODES: *va_arg(arguments, uint32_t *) = 2; break;
    case S_JOB_NODEID: *va_arg(arguments, uint32_t *) = 1; break;
    case S_JOB_LOCAL_TASK_COUNT: *va_arg(arguments, uint32_t *) = FAKE_LOCAL_TASKS; break;
    case S_JOB_TOTAL_TASK_COUNT: *va_arg(arguments, uint32_t *) = FAKE_TOTAL_TASKS; break;
    case S_JOB_NCPUS: *va_arg(arguments, uint16_t *) = 8; break;
    case S_STEP_CPUS_PER_TASK: *va_arg(arguments, uint32_t *) = 4; break;
    case S_JOB_ARGV:
        *va_arg(arguments, int *) = fake_job.argv.count;
        *va_arg(arguments, char ***) = fake_job.argv.items;
        break;
    case S_JOB_ENV: *va_arg(arguments, char ***) = spank->context == S_CTX_REMOTE ? fake_job.env.items : NULL; break;
    case S_TASK_ID:
    case S_TASK_GLOBAL_ID:
    case S_TASK_EXIT_STATUS:
    case S_TASK_PID: return task_item(spank, item, arguments);
    case S_JOB_PID_TO_GLOBAL_ID:
    case S_JOB_PID_TO_LOCAL_ID:
    case S_JOB_LOCAL_TO_GLOBAL_ID:
    case S_JOB_GLOBAL_TO_LOCAL_ID: return conversion(spank, item, arguments);
    case S_JOB_SUPPLEMENTARY_GIDS:
        *va_arg(arguments, gid_t **) = groups;
        *va_arg(arguments, int *) = sizeof(groups) / sizeof(groups[0]);
        break;
    case S_SLURM_VERSION:
    case S_SLURM_VERSION_MAJOR:
    case S_SLURM_VERSION_MINOR:
    case S_SLURM_VERSION_MICRO: *va_arg(arguments, const char **) = version(item); break;
    case S_JOB_ALLOC_CORES: *va_arg(arguments, const char **) = "0-3,8"; break;
    case S_JOB_ALLOC_MEM: *va_arg(arguments, uint64_t *) = UINT64_C(1) << 33; break;
    case S_STEP_ALLOC_CORES: *va_arg(arguments, const char **) = NULL; break;
    case S_STEP_ALLOC_MEM: *va_arg(arguments, uint64_t *) = 512; break;
    case S_SLURM_RESTART_COUNT: *va_arg(arguments, uint32_t *) = 1; break;
    case S_JOB_ARRAY_ID: *va_arg(arguments, uint32_t *) = 4000; break;
    case S_JOB_ARRAY_TASK_ID: *va_arg(arguments, uint32_t *) = 7; break;
    default: return ESPANK_BAD_ARG;
    }
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    va_list arguments;

    if (!spank || spank->magic != FAKE_MAGIC)
        return ESPANK_BAD_ARG;
    spank_err_t rc = valid(spank, item);
    if (rc == ESPANK_SUCCESS) {
        va_start(arguments, item);
        rc = get_item(spank, item, arguments);
        va_end(arguments);
    }
    return rc;
}
