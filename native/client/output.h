/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs what workers write to standard output and error. Length and number of the lines are limited. */
#ifndef SLURMHOOKS_OUTPUT_H
#define SLURMHOOKS_OUTPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

/* Longest line of slurmhooks.log: larger than the PIPE_BUF bytes that slurmhooks/processes/process.py writes at once.
 */
#define LINE_MAX_BYTES ((8 << 10) + 256)
/* Longest other line, such as one that a handler prints. */
#define UNMARKED_MAX_BYTES 1024

/* How many lines may be logged at once, and per second after that; a long line counts several times. */
struct allowance {
    unsigned at_once, each_second;
    int64_t refilled; /* time by channel_now() */
    unsigned left;    /* lines that may be logged now */
    unsigned dropped; /* lines since the last report */
};

struct lines {
    pthread_mutex_t lock; /* protects all members; held while a line is logged, so that lines keep their order */
    void (*log)(enum slurmhooks_level level, const char *line);
    int fd;
    unsigned length;           /* of the unfinished line */
    bool overlong;             /* the rest of that line is dropped */
    struct allowance marked;   /* lines of slurmhooks.log, which begin with a mark and their level */
    struct allowance unmarked; /* all other lines */
    char read[16384]; /* buffer of lines_read(); it would stay in memory on the stack of each of slurmctld's threads */
    char line[LINE_MAX_BYTES + 1]; /* the unfinished line */
};

/* Initialize the struct. IN fd: the read end of a non-blocking pipe; log: a function that logs one line. */
void lines_start(struct lines *lines, int fd, void (*log)(enum slurmhooks_level level, const char *line));

/* Log the lines that have arrived, up to a limited number of bytes. */
void lines_read(struct lines *lines);

/* RET whether lines_flush() has something to log. Call it when nothing more has arrived for a while. */
bool lines_pending(struct lines *lines);

/* Log the unfinished line, and how many lines were dropped. */
void lines_flush(struct lines *lines);

#endif
