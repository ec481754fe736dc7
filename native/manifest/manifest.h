/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the hook manifest, which tells a process without Python which hooks the hook files define.
 *
 * 'slurmhooks deploy' writes it into each set, with the contents of the hook files that launches run;
 * slurmhooks/site/manifest.py describes the format. If it is damaged, or of another build, it counts as absent, and
 * Python reads the hook files.
 */
#ifndef SLURMHOOKS_MANIFEST_H
#define SLURMHOOKS_MANIFEST_H

#include <stddef.h>

#include "protocol.h"

/* A command line option; the first members are those of struct spank_option. */
struct manifest_option {
    char *name;
    char *arginfo; /* NULL for a flag */
    char *usage;
    int has_arg;
    unsigned contexts; /* bit n: spank_context_t n */
    int checked;       /* Python must check the value when it is given */
};

/* A value of argc that stands for a plugin point without lines in plugstack.conf. */
enum manifest_point { MANIFEST_SCRUN = -1, MANIFEST_CLI_FILTER = -2, MANIFEST_NODE = -3 };

/* What the manifest records for one line of plugstack.conf, or for another plugin point. Never freed. */
struct manifest_line {
    unsigned calls[CALLBACK_COUNT]; /* bit n: there is a handler in spank_context_t n, or for command n of cli_filter */
    struct manifest_option *options;
    int option_count;
    char *script;     /* for scrun: the site's own scrun.lua, or NULL */
    const char *text; /* the whole manifest, for Python, which then does not open the file again */
    struct manifest_line *next;
    int is_exact; /* it has Lua scripts, whose options may depend on all arguments */
    int argc;
    char *argv[]; /* ends with NULL */
};

/* RET whether a word before the GLOB of a line is an argument for slurmhooks; slurmhooks/files/plugstack.py agrees. */
int manifest_is_option(const char *word);

/*
 * Find the line that names the same files in the manifest of this machine, which is read once per process. Arguments
 * for handlers do not matter, because handlers get those that plugstack.conf has now.
 *
 * OUT why  the reason if NULL is returned, for the log
 * RET the line; NULL if the manifest does not have it or cannot be used, so that Python must be asked
 */
const struct manifest_line *manifest_find(int argc, char *argv[], const char **why);

/* Find what the manifest of this machine records for another plugin point. OUT and RET as for manifest_find(). */
const struct manifest_line *manifest_find_point(enum manifest_point point, const char **why);

#endif
