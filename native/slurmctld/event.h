/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EVENT_H
#define SLURMHOOKS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* A call of a plugin by slurmctld, about which handlers ask questions. */
struct slurmhooks_event {
    void *job_desc;
    void *record; /* the job_record_t of an update, in a build with Slurm's sources; else NULL */
    bool modify;
    uint32_t uid;    /* the user who submits or changes the job */
    uint32_t owner;  /* the owner of the job */
    char **err_msg;  /* the messages for the user; NULL: this release shows none */
    bool unasked;    /* no user caused the call, so handlers see all partitions, not only those that a user may use */
    bool steady;     /* slurmctld holds its locks during the whole call: long answers make nobody wait longer */
    bool in_walk;    /* slurmctld may hold the lock of its list of jobs, which iterators take */
    uint32_t job_id; /* for slurmhooks_answer_with_locks(), which finds the record of this job; 0: none */
};

#endif
