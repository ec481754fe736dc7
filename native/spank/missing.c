/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/missing.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "manifest/manifest.h"

/* Slurm's SPANK_OPTION_ENV_PREFIX, and the name of this plugin. */
#define PREFIX "_SLURM_SPANK_OPTION_python_"
/* SPANK_OPTION_MAXLEN. */
#define LONGEST 75
/* The environment is the user's: what is more, or longer, is no option of Slurm, or too much for the log. */
#define MOST 32

/* The names as in variables, where each character that is no letter or digit is replaced by "_". */
static char missing[MOST][LONGEST + 1];
static int count, noted, logged;

/* RET the length of a name, or 0 if no option has it. */
static size_t length_of(const char *name)
{
    size_t length = 0;

    while (length <= LONGEST && (isalnum((unsigned char)name[length]) || name[length] == '_'))
        length++;
    return length && length <= LONGEST && name[length] == '=' ? length : 0;
}

static void note(const char *variable)
{
    if (count == MOST || strncmp(variable, PREFIX, strlen(PREFIX)))
        return;
    const char *name = variable + strlen(PREFIX);
    size_t length = length_of(name);
    if (length)
        snprintf(missing[count++], LONGEST + 1, "%.*s", (int)length, name);
}

void missing_note(spank_t spank)
{
    char **environment = NULL;

    if (noted)
        return;
    noted = 1;
    if (spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS)
        return;
    for (char **variable = environment; variable && *variable; variable++)
        note(*variable);
}

/* RET whether an option has this name in variables. */
static int is_name_of(const char *variable, const char *option, size_t length)
{
    if (strlen(variable) != length)
        return 0;
    for (size_t i = 0; i < length; i++)
        if (variable[i] != (isalnum((unsigned char)option[i]) ? option[i] : '_'))
            return 0;
    return 1;
}

static void known(const char *option, size_t length)
{
    for (int i = 0; i < count; i++)
        if (is_name_of(missing[i], option, length))
            memmove(missing[i], missing[--count], sizeof(missing[i]));
}

void missing_known(const char *name)
{
    known(name, strlen(name));
}

void missing_known_list(char *names)
{
    for (char *end; names && (end = strchr(names, ' ')); names = end + 1)
        known(names, (size_t)(end - names));
}

void missing_log(void)
{
    for (int i = 0; i < count && !logged; i++)
        slurm_info("slurmhooks: no hook file of this node has the option of the job in " PREFIX "%s: the job runs"
                   " without it; deploy the same hook files to all nodes",
                   missing[i]);
    logged = 1;
}

int missing_refuse(void)
{
    for (int i = 0; i < count; i++)
        slurm_spank_log("slurmhooks: this node does not have the option %s of the job; please tell your"
                        " administrators",
                        missing[i]);
    return count > 0;
}
