/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/next.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "trusted.h"

/*
 * Load the library. RET the library, or NULL. OUT path: the last path that was tried; why: if NULL is returned, what
 * was wrong with it.
 */
static void *open_library(const char *name, const char *folders, char *path, char *why, size_t size)
{
    void *handle = NULL;
    char link[32];

    for (const char *folder = folders; folder && *folder && !handle; folder = strchrnul(folder, ':')) {
        folder += *folder == ':';
        snprintf(path, PATH_MAX, "%.*s/jobcomp_%s.so", (int)strcspn(folder, ":"), folder, name);
        snprintf(why, size, "the file does not exist in PluginDir");
        int fd = trusted_open(path, why, size);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return NULL;
        /* Opens the file that was checked, even if its name now refers to another one. */
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        handle = dlopen(link, RTLD_LAZY);
        if (!handle)
            snprintf(why, size, "%s", dlerror());
        close(fd);
    }
    return handle;
}

/* Check the library as Slurm does. RET NULL, or what is wrong. */
static const char *verify(void *handle, const char *name)
{
    const char *type = dlsym(handle, "plugin_type");
    const uint32_t *version = dlsym(handle, "plugin_version");

    if (!type || !version || strncmp(type, "jobcomp/", 8) || strcmp(type + 8, name))
        return "it is not a jobcomp plugin of that name";
    return (*version & 0xffffff) == (SLURM_VERSION_NUMBER & 0xffffff) ? NULL : "it is of another release of Slurm";
}

static int fail(struct slurmhooks_next *next, const char *name, const char *path, const char *why)
{
    log_error("[jobcomp] next = \"%s\": %s: %s", name, path, why);
    if (next->handle)
        dlclose(next->handle);
    *next = (struct slurmhooks_next){0};
    return SLURM_ERROR;
}

int slurmhooks_next_open(struct slurmhooks_next *next, const char *name, const char *folders)
{
    char path[PATH_MAX], why[512];

    *next = (struct slurmhooks_next){.handle = open_library(name, folders, path, why, sizeof(why))};
    if (!next->handle)
        return fail(next, name, path, why);
    const char *wrong = verify(next->handle, name);
    if (wrong)
        return fail(next, name, path, wrong);
    int (*init)(void) = (int (*)(void))dlsym(next->handle, "init");
    next->fini = (int (*)(void))dlsym(next->handle, "fini");
    next->set_location = (int (*)(char *))dlsym(next->handle, "jobcomp_p_set_location");
    next->get_jobs = (void *(*)(void *))dlsym(next->handle, "jobcomp_p_get_jobs");
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
    next->record_end = (int (*)(void *, uint32_t))dlsym(next->handle, "jobcomp_p_record_job_end");
    next->record_start = (int (*)(void *, uint32_t))dlsym(next->handle, "jobcomp_p_record_job_start");
    if (!next->record_start)
        return fail(next, name, path, "it lacks a function of a jobcomp plugin");
#else
    next->record_end = (int (*)(void *, uint32_t))dlsym(next->handle, "jobcomp_p_log_record");
#endif
    if (!next->set_location || !next->get_jobs || !next->record_end)
        return fail(next, name, path, "it lacks a function of a jobcomp plugin");
    if (init && init())
        return fail(next, name, path, "its init() failed");
    return SLURM_SUCCESS;
}

void slurmhooks_next_close(struct slurmhooks_next *next)
{
    if (!next->handle)
        return;
    if (next->fini)
        next->fini();
    dlclose(next->handle);
    *next = (struct slurmhooks_next){0};
}
