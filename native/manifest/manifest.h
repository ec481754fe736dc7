/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hook manifest: what the hook files hold, for a process that would rather not start Python.
 *
 * 'slurmhooks compile' writes it (slurmhooks/manifest.py says how). It is a cache: one that does not match the files
 * that it was made from, or that is damaged, counts as absent.
 */
#ifndef SLURMHOOKS_MANIFEST_H
#define SLURMHOOKS_MANIFEST_H

#include <stddef.h>

/* SPANK's callbacks, in the order of spank.h. The names stand once, here. */
#define SLURMHOOKS_CALLBACKS(X) \
    X(init)                     \
    X(job_prolog)               \
    X(init_post_opt)            \
    X(local_user_init)          \
    X(user_init)                \
    X(task_init_privileged)     \
    X(task_init)                \
    X(task_post_fork)           \
    X(task_exit)                \
    X(job_epilog)               \
    X(slurmd_exit)              \
    X(exit)

#define SLURMHOOKS_ENUMERATOR(name) CALLBACK_##name,
enum callback { SLURMHOOKS_CALLBACKS(SLURMHOOKS_ENUMERATOR) CALLBACK_COUNT };

/* The functions of a cli_filter plugin, the same for them. */
#define SLURMHOOKS_FILTERS(X) \
    X(setup_defaults)         \
    X(pre_submit)             \
    X(post_submit)

#define SLURMHOOKS_FILTER_ENUMERATOR(name) FILTER_##name,
enum filter { SLURMHOOKS_FILTERS(SLURMHOOKS_FILTER_ENUMERATOR) FILTER_COUNT };

/* Of one line of plugstack.conf; Slurm knows an option by a number, which has to name the line too. */
#define MOST_OPTIONS 256

/* A command line option, in the words of struct spank_option. */
struct manifest_option {
    char *name;
    char *arginfo; /* NULL: takes no argument */
    char *usage;
    int has_arg;
    unsigned contexts; /* bit n: spank_context_t n */
    int checked;       /* the value must be checked by Python when it is given */
};

/* The argc of plugin points that have no line in plugstack.conf. */
enum manifest_point { MANIFEST_SCRUN = -1, MANIFEST_CLI_FILTER = -2 };

/* What is recorded for one line of plugstack.conf, or for another plugin point. */
struct manifest_line {
    unsigned calls[CALLBACK_COUNT]; /* bit n: there is a handler in spank_context_t n, or for command n of cli_filter */
    struct manifest_option *options;
    int option_count;
    char *script; /* of scrun: the site's own scrun.lua, or NULL */
    struct manifest_line *next;
    int argc;
    char *argv[]; /* NULL behind the last */
};

/*
 * Find the line with these arguments in the manifest of this machine, which is read once a process.
 *
 * OUT why  if NULL is returned: why there is none, for the log
 * RET the line, or NULL: ask Python
 */
const struct manifest_line *manifest_find(int argc, char *argv[], const char **why);

/*
 * Find what a plugin point without lines needs in the manifest of this machine, which is read once a process.
 *
 * OUT why  if NULL is returned: why there is none, for the log
 * RET what is recorded for the point, or NULL: ask Python
 */
const struct manifest_line *manifest_find_point(enum manifest_point point, const char **why);

#endif
