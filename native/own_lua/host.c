/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What job_submit_lua.so, Slurm's own plugin, finds in slurmctld, for a process that is not slurmctld.
 *
 * 'slurmhooks adopt' loads this library into a process of its own, then Slurm's library and the plugin, and calls the
 * plugin with requests (slurmhooks/workshop/adopt/slurms_plugin.py). There are no jobs, partitions and reservations.
 * The plugin's lines for the log are kept in memory: the log functions here come before those of Slurm's library.
 */
#include <slurm/slurm.h>

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wire/wire.h"

#define EXPORTED __attribute__((visibility("default")))
/* The names of Slurm's levels, by number. */
static const char *const levels[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                     "debug", "debug2", "debug3", "debug4", "debug5"};
#define LEVELS (sizeof(levels) / sizeof(*levels))
#define LEVEL_ERROR 2

/* slurmctld's variables. */
EXPORTED void *job_list;
EXPORTED void *part_list;
EXPORTED void *resv_list;
EXPORTED time_t last_job_update;
EXPORTED time_t last_resv_update;

extern void slurm_xfree(void **item);

/* The lines of the running call, as "level: text", one after the other, each with its NUL. */
static struct {
    char *data;
    size_t size;
} lines;

static void keep(unsigned level, const char *format, va_list arguments)
{
    char *text;
    const char *name = levels[level < LEVELS ? level : LEVELS - 1];

    if (vasprintf(&text, format, arguments) < 0)
        return;
    size_t size = strlen(name) + 2 + strlen(text) + 1;
    char *data = realloc(lines.data, lines.size + size);
    if (data) {
        snprintf(data + lines.size, size, "%s: %s", name, text);
        lines.data = data;
        lines.size += size;
    }
    free(text);
}

#define LOGS(function, ...)                       \
    EXPORTED void function(__VA_ARGS__)           \
    {                                             \
        va_list arguments;                        \
        va_start(arguments, format);              \
        keep((unsigned)level, format, arguments); \
        va_end(arguments);                        \
    }
LOGS(log_var, int level, const char *format, ...)
LOGS(slurm_log_var, int level, const char *format, ...)

/* Some of Slurm's sources call it by its short name, which is also that of a function of the C library. */
#define LOGS_ERROR(function)                       \
    EXPORTED int function(const char *format, ...) \
    {                                              \
        va_list arguments;                         \
        va_start(arguments, format);               \
        keep(LEVEL_ERROR, format, arguments);      \
        va_end(arguments);                         \
        return SLURM_ERROR;                        \
    }
LOGS_ERROR(slurm_error)
LOGS_ERROR(error)

EXPORTED int get_log_level(void)
{
    return LEVELS - 1;
}
EXPORTED int slurm_get_log_level(void)
{
    return LEVELS - 1;
}

/* A script of a job in slurmctld. There is none. */
EXPORTED void *get_job_script(const void *job)
{
    (void)job;
    return NULL;
}

/* Accounting, which this process does not have. */
EXPORTED int assoc_mgr_fill_in_user(void)
{
    return SLURM_ERROR;
}
EXPORTED int assoc_mgr_fill_in_assoc(void)
{
    return SLURM_ERROR;
}
EXPORTED int assoc_mgr_fill_in_qos(void)
{
    return SLURM_ERROR;
}

static int (*submit)(job_desc_msg_t *, uint32_t, char **);
/* Up to Slurm 22.05 it has no last argument. */
static int (*modify)(job_desc_msg_t *, void *, uint32_t, char **);
/*
 * Stands for the job of an update, whose struct is private: the plugin itself only reads its user, and the script is
 * kept from reading the rest (slurmhooks/workshop/adopt/slurms_plugin.py).
 */
static uint64_t job_record[8192];

/*
 * Load the plugin, which loads its script.
 *
 * IN path    of job_submit_lua.so
 * RET NULL, or what went wrong
 */
EXPORTED const char *slurmhooks_own_lua_load(const char *path)
{
    void *plugin = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    int (*init)(void);

    if (!plugin)
        return dlerror();
    job_list = slurm_list_create(NULL);
    part_list = slurm_list_create(NULL);
    resv_list = slurm_list_create(NULL);
    *(void **)&init = dlsym(plugin, "init");
    *(void **)&submit = dlsym(plugin, "job_submit");
    *(void **)&modify = dlsym(plugin, "job_modify");
    if (!init || !submit || !modify)
        return "it has no init(), job_submit() or job_modify()";
    return init() == SLURM_SUCCESS ? NULL : "its init() failed: does the script load?";
}

/* Forget the log. */
EXPORTED void slurmhooks_own_lua_forget(void)
{
    lines.size = 0;
}

/* RET the log. OUT size  in bytes. */
EXPORTED const char *slurmhooks_own_lua_log(size_t *size)
{
    *size = lines.size;
    return lines.data;
}

/* RET a message with the packed request; the caller frees it. OUT size  in bytes. */
static char *packed(const job_desc_msg_t *job_desc, uint32_t *size)
{
    struct slurmhooks_buffer buffer;

    slurmhooks_begin(&buffer, SLURMHOOKS_REQUEST);
    buffer.longest = SLURMHOOKS_WHOLE;
    slurmhooks_put_struct(&buffer, TABLE_job, job_desc);
    *size = (uint32_t)buffer.size;
    return slurmhooks_end(&buffer, 0, 0, 0) ? buffer.data : NULL;
}

/*
 * Submit a request, or update a job.
 *
 * IN updates  update a job
 * IN writes   an answer of a worker, whose writes make the request
 * IN user_id, group_id, uid  of the request, and who asks
 * OUT before, after  messages with the packed request before and after the call, which the caller frees
 * OUT text    the message for the user, which the caller frees, or NULL
 * OUT rc      what the plugin returned
 * RET NULL, or what is wrong with the writes
 */
EXPORTED const char *slurmhooks_own_lua_ask(int updates, const void *writes, size_t size, uint32_t user_id,
                                            uint32_t group_id, uint32_t uid, char *messages[2], uint32_t sizes[2],
                                            char **text, int *rc)
{
    struct slurmhooks_verdict verdict;
    job_desc_msg_t job_desc;
    char *err_msg = NULL;

    slurm_init_job_desc_msg(&job_desc);
    const char *wrong = slurmhooks_apply(writes, size, &job_desc, &verdict);
    if (wrong)
        return wrong;
    job_desc.user_id = user_id;
    job_desc.group_id = group_id;
    if (!updates)
        job_desc.het_job_offset = NO_VAL; /* as slurmctld sets it for a job that is not heterogeneous */
    messages[0] = packed(&job_desc, &sizes[0]);
    *rc = updates ? modify(&job_desc, job_record, uid, &err_msg) : submit(&job_desc, uid, &err_msg);
    messages[1] = packed(&job_desc, &sizes[1]);
    *text = err_msg ? strdup(err_msg) : NULL;
    slurm_xfree((void **)&err_msg);
    return NULL;
}
