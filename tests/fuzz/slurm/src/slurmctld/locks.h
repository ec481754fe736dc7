/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of Slurm's header: what native/slurmctld/queries.c uses of it. */
#ifndef FUZZ_LOCKS_H
#define FUZZ_LOCKS_H

typedef enum { NO_LOCK, READ_LOCK, WRITE_LOCK } lock_level_t;

typedef struct {
    lock_level_t conf, job, node, part, fed;
} slurmctld_lock_t;

void lock_slurmctld(slurmctld_lock_t locks);
void unlock_slurmctld(slurmctld_lock_t locks);

#endif
