/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The script that the stand-in host runs: one command a line, some of them with a block of lines up to `end`.
 */
#ifndef FAKEHOST_SCRIPT_H
#define FAKEHOST_SCRIPT_H

/* One line, split into words: "..." holds blanks together, \xHH, \\ and \" stand for a byte. */
struct line {
    int count;
    char **words;
};

/* The lines from `from` up to, but not including, `to`. */
struct block {
    int from;
    int to;
};

/* Add a line to the script; empty ones and comments (#) are left out. */
void script_add(const char *text);

/* Add the lines of a file. */
void script_add_file(const char *path);

int script_length(void);

const struct line *script_line(int number);

/* Return the block below a line: it ends at the matching `end`. */
struct block script_block(int number);

/* Return the value of the word KEY=VALUE, or NULL; in words behind the first two. */
const char *line_value(const struct line *line, const char *key);

/* The script is wrong: say where, and exit with 2. */
void script_wrong(const struct line *line, const char *why) __attribute__((noreturn));

#endif
