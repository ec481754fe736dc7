/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces Slurm's header, with the part that native/slurmctld/queries.c uses. */
#ifndef FUZZ_SLURMCTLD_H
#define FUZZ_SLURMCTLD_H

#include <stdint.h>

#include "src/slurmctld/locks.h"

typedef struct {
    uint32_t user_id;
} job_record_t;

typedef struct {
    char *head;
} buf_t;

#define FREE_NULL_BUFFER(buffer) ((buffer) = NULL)

job_record_t *find_job_record(uint32_t job_id);
buf_t *get_job_script(const job_record_t *job);

#endif
