/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stub/stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

#define CORE_FILE "libslurmhooks_core.so"

const char *stub_folder = "slurmhooks/";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct slurmhooks_core *core; /* written with the lock held, read without */

/* Find the core library. RET 0, or -1. */
static int core_path(char *buffer, size_t size)
{
    Dl_info info;

    if (!dladdr((void *)core_path, &info) || !info.dli_fname)
        return -1;
    const char *slash = strrchr(info.dli_fname, '/');
    int directory = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    int length = snprintf(buffer, size, "%.*s%s%s", directory, info.dli_fname, stub_folder, CORE_FILE);
    return length < 0 || (size_t)length >= size ? -1 : 0;
}

static const struct slurmhooks_core *open_core(void)
{
    char path[4096];

    if (core_path(path, sizeof(path))) {
        log_error("cannot find out where this plugin was loaded from");
        return NULL;
    }
    /*
     * RTLD_GLOBAL adds libpython's symbols to the global scope, which Slurm does not do, since it opens plugins with
     * RTLD_LOCAL. Debian's extension modules are not linked to libpython, and find its symbols only there.
     */
    void *library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE);
    if (!library) {
        log_error("cannot open %s: %s; run 'slurmhooks build' and 'slurmhooks install' again", path, dlerror());
        return NULL;
    }
    const struct slurmhooks_core *opened = dlsym(library, SLURMHOOKS_CORE_SYMBOL);
    if (!opened || opened->abi != SLURMHOOKS_CORE_ABI) {
        log_error("%s is from another build than this plugin; run 'slurmhooks install' again", path);
        return NULL;
    }
    return opened;
}

static const struct slurmhooks_core *get_core(void)
{
    const struct slurmhooks_core *ready = __atomic_load_n(&core, __ATOMIC_ACQUIRE);

    if (ready)
        return ready;
    pthread_mutex_lock(&lock);
    if (!core)
        __atomic_store_n(&core, open_core(), __ATOMIC_RELEASE);
    ready = core;
    pthread_mutex_unlock(&lock);
    return ready;
}

void stub_open(void)
{
    get_core();
}

int stub_call(struct slurmhooks_entry *entry, struct slurmhooks_outcome *outcome, const intptr_t *arguments, int count)
{
    const struct slurmhooks_core *ready = get_core();

    memset(outcome, 0, sizeof(*outcome));
    return ready ? ready->call(entry, outcome, arguments, count) : -1;
}
