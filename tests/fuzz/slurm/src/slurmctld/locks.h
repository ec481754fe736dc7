/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces Slurm's header, with the part that native/slurmctld/queries.c uses. */
#ifndef FUZZ_LOCKS_H
#define FUZZ_LOCKS_H

typedef enum { NO_LOCK, READ_LOCK, WRITE_LOCK } lock_level_t;

typedef struct {
    lock_level_t conf, job, node, part, fed;
} slurmctld_lock_t;

void lock_slurmctld(slurmctld_lock_t locks);
void unlock_slurmctld(slurmctld_lock_t locks);

#endif
