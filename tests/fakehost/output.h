/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the stand-in host says: results on standard output, Slurm's log on standard error, each line in one
 * write, so that threads and forked processes do not mix theirs. A result is
 *
 *   COMMAND KEY=VALUE ...
 *
 * where a value is a number, NO_VAL, INFINITE, NULL or a "text" with \xHH for what is not plain.
 */
#ifndef FAKEHOST_OUTPUT_H
#define FAKEHOST_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

/* Write results and log to a file instead: the script may then close descriptors 0 to 2. */
void output_to_file(const char *path);

/* Print one line of the log. */
void output_log(const char *level, const char *text);

/* How many lines of level ERROR the log has had. */
int output_errors(void);

/* Start a result; output_end prints it. */
FILE *output_begin(const char *command);
void output_end(FILE *result);

void output_number(FILE *result, const char *key, long long value);
void output_unsigned(FILE *result, const char *key, uint64_t value, int bits);
void output_text(FILE *result, const char *key, const char *text);

/* The return code of a plugin's function; counted if it is not 0. */
void output_rc(FILE *result, int rc);

/* In this thread: print no results any more (or again), and return how many return codes were not 0. */
int output_quiet(int quiet);

#endif
