/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads plugins as src/common/plugin.c does. */
#ifndef FAKEHOST_PLUGIN_H
#define FAKEHOST_PLUGIN_H

#include "script.h"

/* A loaded plugin; with SPANK, a line of plugstack.conf. */
struct plugin {
    const char *name; /* in the script */
    const char *path;
    void *handle;
    int argc; /* its arguments in plugstack.conf */
    char **argv;
};

/* RET the plugin that the first argument of a command names. The script fails if it is not loaded. */
struct plugin *plugin_of(const struct line *line);

/* RET a symbol of a plugin, or NULL. */
void *plugin_function(const struct plugin *plugin, const char *name);

/* An errno that no system call sets. */
#define PLUGIN_ERRNO 4095

/* Call before a function of a plugin: sets errno to PLUGIN_ERRNO. */
void plugin_enter(void);

/*
 * Call after it: the program ends if the function has left another errno than this: PLUGIN_ERRNO, or 0 where slurmctld
 * reads errno.
 */
void plugin_leave(const char *function, int expected);

#endif
