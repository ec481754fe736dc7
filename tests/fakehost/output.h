/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints results on standard output, and Slurm's log on standard error. Each line is one write(), so that lines of
 * threads and forked processes do not mix. A result is
 *
 *   COMMAND KEY=VALUE ...
 *
 * where a value is a number, NO_VAL, INFINITE, NULL or a "text", in which \xHH stands for a byte that is not plain
 * ASCII.
 */
#ifndef FAKEHOST_OUTPUT_H
#define FAKEHOST_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Print results and log to a file, so that the script can close descriptors 0 to 2. */
void output_to_file(const char *path);

/* Free the memory that was reserved for the case that none is left. RET false if it was already freed. */
bool output_use_reserve(void);

/* Print one line of the log. */
void output_log(const char *level, const char *text);

/* RET the number of lines that were logged at level ERROR. */
int output_errors(void);

/* Begin a result; output_end() prints it. */
FILE *output_begin(const char *command);
void output_end(FILE *result);

void output_number(FILE *result, const char *key, long long value);
void output_unsigned(FILE *result, const char *key, uint64_t value, int bits);
void output_text(FILE *result, const char *key, const char *text);

/* Add the return code of a plugin's function to a result; count it if it is not 0. */
void output_rc(FILE *result, int rc);

/* Count a failure that is not a return code of the plugin. */
void output_failure(void);

/* RET the number of failures of this thread while its results are off. */
int output_failures(void);

/* Switch the results of this thread off or on. RET the number of failures since the last call: return codes that were
 * not 0, and forked children that have failed. */
int output_quiet(int quiet);

#endif
