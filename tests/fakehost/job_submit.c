/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls a job_submit plugin as slurmctld does. */
#include <slurm/slurm.h>
#include <slurm/slurm_version.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "job_desc.h"
#include "memory.h"
#include "output.h"
#include "plugin.h"

static uint32_t uid_of(const struct line *line, const char *key)
{
    const char *uid = line_value(line, key);

    return uid ? (uint32_t)strtoul(uid, NULL, 0) : 2001;
}

/* Print the result of a call, and free its request. IN err_msg: is freed. */
static void finish(const char *command, int rc, char *err_msg, job_desc_msg_t *desc)
{
    FILE *result = output_begin(command);

    output_rc(result, rc);
    output_text(result, "err_msg", err_msg);
    job_desc_print(desc, result);
    output_end(result);
    slurm_xfree((void **)&err_msg);
    job_desc_free(desc);
}

void command_job_submit(const struct line *line)
{
    int (*function)(job_desc_msg_t *, uint32_t, char **) =
        (int (*)(job_desc_msg_t *, uint32_t, char **))plugin_function(plugin_of(line), "job_submit");
    /* The message of an earlier plugin of JobSubmitPlugins. */
    char *err_msg = slurm_xstrdup(line_value(line, "err_msg"));
    job_desc_msg_t desc;

    job_desc_fill(&desc, line);
    uint32_t uid = uid_of(line, "submit_uid");
    plugin_enter();
    int rc = function(&desc, uid, &err_msg);
    plugin_leave("job_submit", 0);
    finish("job_submit", rc, err_msg, &desc);
}

void command_job_modify(const struct line *line)
{
    void *function = plugin_function(plugin_of(line), "job_modify");
    uint32_t uid = uid_of(line, "modify_uid");
    /* Stands in for a job record, whose layout is private to slurmctld: the plugin of this build does not read it. */
    uint64_t record[64] = {0};
    char *err_msg = NULL;
    job_desc_msg_t desc;
    int rc;

    job_desc_fill(&desc, line);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
    err_msg = slurm_xstrdup(line_value(line, "err_msg"));
    plugin_enter();
    rc = ((int (*)(job_desc_msg_t *, void *, uint32_t, char **))function)(&desc, record, uid, &err_msg);
#else
    plugin_enter();
    rc = ((int (*)(job_desc_msg_t *, void *, uint32_t))function)(&desc, record, uid);
#endif
    plugin_leave("job_modify", 0);
    finish("job_modify", rc, err_msg, &desc);
}

/* RET whether the plugin has a worker: it has the status page of each worker open. */
static bool has_worker(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    bool has_page = false;

    if (!folder)
        abort();
    while (!has_page && (entry = readdir(folder))) {
        char target[64];
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        target[size < 0 ? 0 : size] = '\0';
        has_page = !strncmp(target, "/memfd:slurmhooks", strlen("/memfd:slurmhooks"));
    }
    closedir(folder);
    return has_page;
}

/* Wait until a worker is ready or an error has been logged. A request would wait only until its deadline. */
void command_await_worker(const struct line *line)
{
    for (int waited = 0; !has_worker() && !output_errors(); waited++)
        wait_a_little(line, waited);
}
