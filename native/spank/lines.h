/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells apart the lines of plugstack.conf that name this plugin. Slurm loads it once for all of them. Callbacks get the
 * arguments of their line; option callbacks get only a number.
 */
#ifndef SLURMHOOKS_LINES_H
#define SLURMHOOKS_LINES_H

#include "manifest/manifest.h"

#define MOST_LINES 64

/* What slurmstepd does to the node or the job if the hooks do not load: the values of init_failure_mode=. */
enum failure_mode { FAILURE_UNSET, FAILURE_NODE, FAILURE_JOB };

struct line {
    int number;
    int argc;
    char **argv;                          /* a copy: Slurm may free its own before it calls option callbacks */
    const struct manifest_line *manifest; /* NULL: Python must be asked */
    enum failure_mode mode;               /* from the arguments */
    int refuse_missing;                   /* from the arguments: missing_options=refuse */
    int to_check;                         /* whether an option has a value that Python must check */
    int components;                       /* of this srun, whose options have been read */
};

/*
 * Find a line by its arguments; the first call stores the line.
 *
 * OUT why  at the first call: why the manifest does not have the line, for the log; else NULL
 * RET the line, never freed; NULL if there are more than MOST_LINES or memory is short
 */
struct line *line_of(int argc, char *argv[], const char **why);

/* RET the number by which Slurm identifies an option of a line (struct spank_option.val). */
int option_value(const struct line *line, int index);

/* RET the line that an option's number belongs to, or NULL. OUT index of the option in that line. */
struct line *line_of_option(int value, int *index);

#endif
