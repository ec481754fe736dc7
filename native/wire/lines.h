/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workers write to standard output and error, as lines of slurmctld's log: each bounded, and their number, too. */
#ifndef SLURMHOOKS_LINES_H
#define SLURMHOOKS_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/client.h"

/* Of lines of slurmhooks.log: more than the PIPE_BUF bytes that slurmhooks/worker/process.py writes at once. */
#define LINE_MAX_BYTES ((8 << 10) + 256)
/* Of all others. */
#define UNMARKED_MAX_BYTES 1024

/* Lines that may be written at once, and each second after that. */
struct allowance {
    unsigned at_once, each_second;
    int64_t refilled; /* by channel_now() */
    unsigned left;
    unsigned dropped;
};

struct lines {
    pthread_mutex_t lock; /* of all below; also held while a line is logged, so that their order stays */
    void (*log)(enum slurmhooks_level level, const char *line);
    int fd;
    unsigned length;
    bool overlong;
    struct allowance marked;   /* lines of slurmhooks.log, which say their level: <1>text */
    struct allowance unmarked; /* all others */
    char read[16384]; /* what was just read; not on the stacks of slurmctld's many threads, where it would stay */
    char line[LINE_MAX_BYTES + 1];
};

/* IN fd: the end of a pipe to read from, not blocking. */
void lines_start(struct lines *lines, int fd, void (*log)(enum slurmhooks_level level, const char *line));

/* Log what has arrived, up to a bounded number of bytes. */
void lines_read(struct lines *lines);

/* Whether lines_flush() is due if nothing more arrives for a while. */
bool lines_pending(struct lines *lines);

/* Log an unfinished line, and how many lines were dropped. */
void lines_flush(struct lines *lines);

#endif
