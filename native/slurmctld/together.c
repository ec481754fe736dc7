/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/together.h"

#include <slurm/slurm.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "protocol.h"

/* Slurm's configuration in this process. */
#pragma weak slurm_conf
extern slurm_conf_t slurm_conf;

/* The plugins that have workers, and which member of slurm.conf names them. */
static const struct {
    const char *name;
    size_t member;
} plugins[] = {
#define PLUGIN(name, member) {#name, offsetof(slurm_conf_t, member)},
    SLURMHOOKS_PLUGINS(PLUGIN)
#undef PLUGIN
};

/* RET whether a list of plugins, such as "prep/script,prep/python", has ours. */
static bool has_python(const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        const char *slash = memchr(list, '/', length);
        const char *word = slash ? slash + 1 : list;

        if ((size_t)(list + length - word) == strlen("python") && !strncmp(word, "python", strlen("python")))
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

/* Start the workers of a plugin. IN folder, length: that of this plugin, where Slurm will find the other one, too. */
static void start(const char *name, const char *folder, int length)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.*s%s_python.so", length, folder, name);
    /* Stays open: Slurm will open the same library, and must find its workers. */
    void *plugin = dlopen(path, RTLD_LAZY);
    void (*start_workers)(void) = plugin ? (void (*)(void))dlsym(plugin, "slurmhooks_start_workers") : NULL;
    if (start_workers)
        start_workers();
}

void slurmhooks_start_together(void)
{
    Dl_info info;
    const char *slash = NULL;

    if (dladdr((void *)slurmhooks_start_together, &info) && info.dli_fname)
        slash = strrchr(info.dli_fname, '/');
    if (!slash || !&slurm_conf)
        return;
    for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
        if (has_python(*(char *const *)((const char *)&slurm_conf + plugins[i].member)))
            start(plugins[i].name, info.dli_fname, (int)(slash - info.dli_fname) + 1);
}
