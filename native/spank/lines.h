/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of plugstack.conf that name this library. Slurm opens it once for all of them and hands each call the
 * arguments of its line, but option callbacks nothing but a number.
 */
#ifndef SLURMHOOKS_LINES_H
#define SLURMHOOKS_LINES_H

#include "manifest/manifest.h"

#define MOST_LINES 64

/* Whose fault it is that slurmstepd cannot load a site's hooks; values of the argument init_failure_mode=. */
enum failure_mode { FAILURE_UNSET, FAILURE_NODE, FAILURE_JOB };

struct line {
    int number;
    int argc;
    char **argv;                          /* a copy: Slurm's may go away before its options do */
    const struct manifest_line *manifest; /* NULL: only Python knows this line */
    enum failure_mode mode;               /* what the site has chosen, as an argument */
    int to_check;                         /* slurmstepd was given a value that Python must check */
};

/* Find or remember a line. OUT why: the manifest does not know it, for the log; set at the first call for a line.
 * RET NULL if there are too many or memory is short. */
struct line *line_of(int argc, char *argv[], const char **why);

/* The number under which Slurm knows an option (struct spank_option.val), and back. RET of the latter: NULL if none. */
int option_value(const struct line *line, int index);
struct line *line_of_option(int value, int *index);

#endif
