/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the spool: records that wait on disk until workers have delivered them. slurmhooks/jobcomp/spool.py reads it.
 * Without Python and Slurm.
 *
 * The folder has segments, NUMBER.spool. Each process appends to its own segment, which it has locked, and begins a new
 * one when the segment is large enough. A segment is a header and frames, which begin at multiples of 8 bytes. A frame
 * is a header and a message (wire/wire.h).
 *
 * Readers find incomplete and damaged frames by their checksums, and the next frame by the key, random bytes that each
 * segment has of its own. A message has texts of users, who must not be able to write what looks like a frame.
 */
#ifndef SLURMHOOKS_SPOOL_H
#define SLURMHOOKS_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

#define SLURMHOOKS_SEGMENT_MAGIC "SHS2"

struct slurmhooks_segment {
    char magic[4];
    uint8_t key[20];
};

struct slurmhooks_frame {
    uint8_t key[20];   /* that of the segment */
    uint32_t size;     /* of the message, without its padding to a multiple of 8 */
    uint32_t checksum; /* CRC-32 of the rest of the header and the message */
    uint32_t hook;     /* enum slurmhooks_jobcomp_hook */
    uint64_t time;     /* nanoseconds since 1970; different in each frame of a process */
    uint32_t job_id;   /* 0 if this build cannot read it */
    uint32_t reserved;
};

struct slurmhooks_spool_config {
    const char *folder;          /* is created, but not its parent */
    uint64_t limit;              /* the largest size of the folder in bytes, with dead letters */
    enum slurmhooks_fsync fsync; /* INTERVAL: by slurmhooks_spool_sync() */
    uint64_t identity;           /* of the tables */
    const char *table;           /* the tables as text (wire_tables.c), which is kept beside the messages */
    /* Log one line. IN error: at level error, else at level info. */
    void (*log)(bool error, const char *line);
};

struct slurmhooks_spool;

/* Open the folder and begin a segment. RET NULL if that fails. OUT why: the reason then; size bytes. */
struct slurmhooks_spool *slurmhooks_spool_open(const struct slurmhooks_spool_config *config, char *why, size_t size);

/*
 * Append a record. Any number of threads may call this at the same time.
 *
 * RET false if the spool is full or cannot be written: the loss is logged, and the job is added to lost.jsonl
 */
bool slurmhooks_spool_append(struct slurmhooks_spool *spool, uint32_t hook, uint32_t job_id, const void *message,
                             size_t size);

/*
 * RET whether a quarter of the size limit is used, by records that wait or are dead letters. Records then have to be
 * short, so that long texts of some jobs leave room for records of all others. Logs when that begins.
 */
bool slurmhooks_spool_is_filling(struct slurmhooks_spool *spool);

/* Force new records onto the disk, if the policy is INTERVAL. */
void slurmhooks_spool_sync(struct slurmhooks_spool *spool);

void slurmhooks_spool_close(struct slurmhooks_spool *spool);

#endif
