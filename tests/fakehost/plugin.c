/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"

#define PLUGINS 8

static struct plugin plugins[PLUGINS];

struct plugin *plugin_of(const struct line *line)
{
    for (int i = 0; i < PLUGINS; i++)
        if (plugins[i].handle && !strcmp(plugins[i].name, line->words[1]))
            return &plugins[i];
    script_wrong(line, "no plugin of that name is open");
}

void *plugin_function(const struct plugin *plugin, const char *name)
{
    return dlsym(plugin->handle, name);
}

void plugin_enter(void)
{
    errno = PLUGIN_ERRNO;
}

void plugin_leave(const char *function, int expected)
{
    int left = errno;
    char text[160];

    if (left == expected)
        return;
    snprintf(text, sizeof(text), "%s() has left errno %d (%s)", function, left, strerror(left));
    output_log("FATAL", text);
    abort();
}

/* Check a plugin as _verify_syms() does: its symbols, and its release. RET NULL, or what is wrong. */
static const char *verify(void *handle)
{
    const char *type = dlsym(handle, "plugin_type");
    const uint32_t *version = dlsym(handle, "plugin_version");

    if (!dlsym(handle, "plugin_name") || !type || !version)
        return "not a Slurm plugin";
    uint32_t mask = strcmp(type, "spank") ? 0xffffff : 0xffff00;
    return (*version & mask) == (SLURM_VERSION_NUMBER & mask) ? NULL : "of another release";
}

static void *open_library(const char *path, const char **why)
{
    /* Slurm uses neither RTLD_NOW nor RTLD_GLOBAL. */
    void *handle = dlopen(path, RTLD_LAZY);

    *why = handle ? verify(handle) : dlerror();
    if (handle && *why) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

/* plugin_peek(): Slurm calls it for a SPANK plugin that plugstack.conf names without a path, before it loads it. */
void command_peek(const struct line *line)
{
    const char *why;
    void *handle = open_library(line->words[1], &why);
    FILE *result = output_begin("peek");

    output_text(result, "type", handle ? dlsym(handle, "plugin_type") : NULL);
    output_text(result, "why", why);
    output_end(result);
    if (handle)
        dlclose(handle);
}

static struct plugin *load(const struct line *line, const char **why)
{
    for (int i = 0; i < PLUGINS; i++) {
        if (plugins[i].handle)
            continue;
        plugins[i] = (struct plugin){
            .name = line->words[1],
            .path = line->words[2],
            .handle = open_library(line->words[2], why),
            .argc = line->count - 3,
            .argv = line->words + 3,
        };
        return plugins[i].handle ? &plugins[i] : NULL;
    }
    script_wrong(line, "too many plugins");
}

static void unload(struct plugin *plugin)
{
    dlclose(plugin->handle);
    plugin->handle = NULL;
}

static int call(const struct plugin *plugin, const char *name)
{
    int (*function)(void) = (int (*)(void))plugin_function(plugin, name);

    if (!function)
        return SLURM_SUCCESS;
    plugin_enter();
    int rc = function();
    plugin_leave(name, PLUGIN_ERRNO);
    return rc;
}

void command_load(const struct line *line)
{
    const char *why;
    struct plugin *plugin = load(line, &why);
    FILE *result = output_begin("load");

    output_number(result, "loaded", plugin != NULL);
    output_text(result, "why", why);
    output_end(result);
}

/* plugin_load_from_file(): the plugin is unloaded again if its init() fails. */
void command_open(const struct line *line)
{
    const char *why;
    struct plugin *plugin = load(line, &why);
    int rc = SLURM_ERROR;

    if (plugin) {
        rc = call(plugin, "init");
        if (rc)
            unload(plugin);
    }
    FILE *result = output_begin("open");
    output_rc(result, rc);
    output_text(result, "why", why);
    output_end(result);
}

/* plugin_unload() */
void command_close(const struct line *line)
{
    struct plugin *plugin = plugin_of(line);
    int rc = call(plugin, "fini");
    FILE *result = output_begin("close");

    unload(plugin);
    output_rc(result, rc);
    output_end(result);
}

void command_init(const struct line *line)
{
    int rc = call(plugin_of(line), "init");
    FILE *result = output_begin("init");

    output_rc(result, rc);
    output_end(result);
}

void command_fini(const struct line *line)
{
    int rc = call(plugin_of(line), "fini");
    FILE *result = output_begin("fini");

    output_rc(result, rc);
    output_end(result);
}
