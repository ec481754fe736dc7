/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of spank.h for the job's environment, the job control environment and the task's command. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spank_handle.h"

/* spank_env_access_check() */
static spank_err_t env_access(const struct spank_handle *spank)
{
    if (!spank || spank->magic != FAKE_MAGIC)
        return ESPANK_BAD_ARG;
    return spank->context == S_CTX_REMOTE ? ESPANK_SUCCESS : ESPANK_NOT_REMOTE;
}

/* spank_job_control_access_check() */
static spank_err_t control_access(const struct spank_handle *spank)
{
    if (!spank || spank->magic != FAKE_MAGIC)
        return ESPANK_BAD_ARG;
    if (spank->context == S_CTX_REMOTE)
        return ESPANK_NOT_LOCAL;
    return spank->context == S_CTX_SLURMD ? ESPANK_NOT_AVAIL : ESPANK_SUCCESS;
}

static spank_err_t copy(const char *value, char *buffer, int size)
{
    if (!value)
        return ESPANK_ENV_NOEXIST;
    return snprintf(buffer, (size_t)size, "%s", value) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
    spank_err_t rc = env_access(spank);

    return rc ? rc : copy(strings_get(&fake_job.env, name), buffer, size);
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    spank_err_t rc = env_access(spank);

    if (rc)
        return rc;
    if (!name || !value)
        return ESPANK_BAD_ARG;
    if (!overwrite && strings_get(&fake_job.env, name))
        return ESPANK_ENV_EXISTS;
    if (strings_get(&fake_job.refused, name))
        return ESPANK_ERROR;
    strings_set(&fake_job.env, name, value);
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    spank_err_t rc = env_access(spank);

    if (rc)
        return rc;
    if (!name)
        return ESPANK_BAD_ARG;
    strings_unset(&fake_job.env, name);
    return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_getenv(spank_t spank, const char *name, char *buffer, int size)
{
    spank_err_t rc = control_access(spank);

    return rc ? rc : copy(strings_get(&fake_job.control_env, name), buffer, size);
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    spank_err_t rc = control_access(spank);

    if (rc)
        return rc;
    /* In prolog and epilog, Slurm fails with this code, because the program lacks the function that it looks up. */
    if (!name || !value || spank->context == S_CTX_JOB_SCRIPT)
        return ESPANK_BAD_ARG;
    if (!overwrite && strings_get(&fake_job.control_env, name))
        return ESPANK_BAD_ARG;
    strings_set(&fake_job.control_env, name, value);
    return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_unsetenv(spank_t spank, const char *name)
{
    spank_err_t rc = control_access(spank);

    if (rc)
        return rc;
    if (!name || spank->context == S_CTX_JOB_SCRIPT)
        return ESPANK_BAD_ARG;
    strings_unset(&fake_job.control_env, name);
    return ESPANK_SUCCESS;
}

/* From 23.11 on; older headers do not declare it. */
extern spank_err_t spank_prepend_task_argv(spank_t spank, int argc, const char *argv[]);
spank_err_t spank_prepend_task_argv(spank_t spank, int argc, const char *argv[])
{
    if (!spank || spank->magic != FAKE_MAGIC || !argv)
        return ESPANK_BAD_ARG;
    if (!spank->task || !fake_phase(spank, "task_init_privileged", "task_init", NULL))
        return ESPANK_NOT_TASK;
    strings_prepend(&fake_job.argv, argc, argv);
    return ESPANK_SUCCESS;
}
