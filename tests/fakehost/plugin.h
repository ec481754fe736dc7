/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening plugins as src/common/plugin.c does. */
#ifndef FAKEHOST_PLUGIN_H
#define FAKEHOST_PLUGIN_H

#include "script.h"

/* An open plugin; for SPANK, one line of plugstack.conf. */
struct plugin {
    const char *name; /* the script's name for it */
    const char *path;
    void *handle;
    int argc; /* its arguments in plugstack.conf */
    char **argv;
};

/* Return the open plugin that a command's first argument names; the script is wrong if there is none. */
struct plugin *plugin_of(const struct line *line);

/* Return a function of a plugin, or NULL. */
void *plugin_function(const struct plugin *plugin, const char *name);

#endif
