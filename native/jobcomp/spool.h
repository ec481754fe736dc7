/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spool: records that wait on disk until workers have delivered them; slurmhooks/jobcomp/spool.py reads it. No
 * Python, no Slurm.
 *
 * A folder holds segments, NUMBER.spool. A process appends to a segment of its own, which it keeps locked, and begins a
 * new one when that is large enough. A segment is a sequence of frames, each a header and a message (wire/wire.h), at
 * multiples of 8. Nothing is repaired here: readers find a frame that was not written completely by its checksum.
 */
#ifndef SLURMHOOKS_SPOOL_H
#define SLURMHOOKS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slurmhooks_frame {
    char magic[4];
    uint32_t size;     /* of the message, without what fills it up to a multiple of 8 */
    uint32_t checksum; /* CRC-32 of the rest of this header and of the message */
    uint32_t hook;     /* SLURMHOOKS_JOB_END, SLURMHOOKS_JOB_START */
    uint64_t time;     /* nanoseconds since 1970, unique in a process */
    uint32_t job_id;   /* 0: this build cannot read it */
    uint32_t reserved;
};

#define SLURMHOOKS_FRAME_MAGIC "SHF1"

enum { SLURMHOOKS_JOB_END, SLURMHOOKS_JOB_START };

/* When what was appended is forced onto the disk; it survives the end of any process in any case. */
enum slurmhooks_fsync {
    SLURMHOOKS_FSYNC_NEVER,    /* when the kernel likes */
    SLURMHOOKS_FSYNC_INTERVAL, /* when somebody calls slurmhooks_spool_sync() */
    SLURMHOOKS_FSYNC_ALWAYS,   /* before slurmhooks_spool_append() returns */
};

struct slurmhooks_spool_config {
    const char *folder; /* made if it does not exist; its parent must */
    uint64_t limit;     /* bytes of the folder, dead letters included */
    enum slurmhooks_fsync fsync;
    uint64_t identity; /* of the table */
    const char *table; /* the text by which messages are read (wire_tables.c); kept beside them */
    /* One line for the log. IN error: else it is for information. */
    void (*log)(bool error, const char *line);
};

struct slurmhooks_spool;

/* Open the folder and begin a segment. RET NULL: OUT why, at most size bytes. */
struct slurmhooks_spool *slurmhooks_spool_open(const struct slurmhooks_spool_config *config, char *why, size_t size);

/*
 * Append a record. Any number of threads may call this at the same time.
 *
 * RET false: the spool is full or cannot be written. That is logged, and the job noted in lost.jsonl.
 */
bool slurmhooks_spool_append(struct slurmhooks_spool *spool, uint32_t hook, uint32_t job_id, const void *message,
                             size_t size);

/* Force what was appended onto the disk, if anything was and the policy asks for it. */
void slurmhooks_spool_sync(struct slurmhooks_spool *spool);

void slurmhooks_spool_close(struct slurmhooks_spool *spool);

#endif
