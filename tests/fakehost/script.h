/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The script: one command per line, some of which have a block of lines up to `end`. */
#ifndef FAKEHOST_SCRIPT_H
#define FAKEHOST_SCRIPT_H

/* A line, split into words. "..." may have blanks; \xHH, \\ and \" stand for a byte. */
struct line {
    int count;
    char **words;
};

/* The lines from number `from` to number `to`, without the latter. */
struct block {
    int from;
    int to;
};

/* Add a line to the script, unless it is empty or a comment (#). */
void script_add(const char *text);

/* Add the lines of a file. */
void script_add_file(const char *path);

int script_length(void);

const struct line *script_line(int number);

/* RET the block after a line, up to the matching `end`. */
struct block script_block(int number);

/* RET the value of the first word KEY=VALUE after the command's name, or NULL. */
const char *line_value(const struct line *line, const char *key);

/* Print the error in the script, and exit with 2. */
void script_wrong(const struct line *line, const char *why) __attribute__((noreturn));

#endif
