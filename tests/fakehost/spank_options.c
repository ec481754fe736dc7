/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of spank.h for options, as in src/common/spank.c. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank_handle.h"

#define OPTIONS 32
/* SPANK_OPTION_MAXLEN */
#define NAME_LIMIT 75

static struct fake_option options[OPTIONS];
static int count;

struct fake_option *fake_option(const struct plugin *plugin, const char *name)
{
    for (int i = 0; i < count; i++)
        if ((!plugin || options[i].plugin == plugin) && !strcmp(options[i].option.name, name))
            return &options[i];
    return NULL;
}

const struct fake_option *fake_option_number(int number)
{
    return number < count ? &options[number] : NULL;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static struct fake_option *add_option(const struct plugin *plugin, const struct spank_option *option)
{
    if (count == OPTIONS)
        return NULL;
    struct fake_option *registered = &options[count++];
    registered->plugin = plugin;
    registered->option = *option;
    registered->option.name = copy(option->name);
    registered->option.arginfo = copy(option->arginfo);
    registered->option.usage = copy(option->usage);
    return registered;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    if (strcmp(spank->phase, "init") || !option || !option->name || !option->usage)
        return ESPANK_BAD_ARG;
    if (strlen(option->name) > NAME_LIMIT)
        return ESPANK_NOSPACE;
    return add_option(spank->plugin, option) ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

/* RET the value of an option in the environment, or NULL. Prolog and epilog get variables with SPANK_ before the name.
 */
static const char *from_environment(const char *plugin, const char *option)
{
    char name[1024];

    snprintf(name, sizeof(name), "SPANK__SLURM_SPANK_OPTION_%s_%s", plugin, option);
    for (char *letter = name; *letter; letter++)
        if (!isalnum((unsigned char)*letter))
            *letter = '_';
    const char *value = getenv(name + strlen("SPANK_"));
    return value ? value : getenv(name);
}

spank_err_t spank_option_getopt(spank_t spank, struct spank_option *option, char **argument)
{
    if (argument)
        *argument = NULL;
    if (fake_phase(spank, "init", "init_post_opt", "task_post_fork", "slurmd_exit", "exit", NULL))
        return ESPANK_NOT_AVAIL;
    if (!option || !option->name || (option->has_arg && !argument))
        return ESPANK_BAD_ARG;
    struct fake_option *registered = fake_option(NULL, option->name);
    if (!registered) {
        const char *value = from_environment(plugin_function(spank->plugin, "plugin_name"), option->name);
        registered = add_option(spank->plugin, option);
        if (!registered)
            return ESPANK_NOSPACE;
        registered->given = value != NULL;
        registered->argument = copy(value);
    }
    if (!registered->given)
        return ESPANK_ERROR;
    if (option->has_arg)
        *argument = registered->argument;
    return ESPANK_SUCCESS;
}
