/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A submission made from the words of a script, and printed as it is after the call. */
#ifndef FAKEHOST_JOB_DESC_H
#define FAKEHOST_JOB_DESC_H

#include <slurm/slurm.h>

#include <stdio.h>

#include "script.h"

/* Fill a description: FIELD=VALUE (a number, NO_VAL, INFINITE or a text); argv=, environment=, spank_job_env=
 * repeat. */
void job_desc_fill(job_desc_msg_t *desc, const struct line *line);

/* Add every field that is set to a result. */
void job_desc_print(const job_desc_msg_t *desc, FILE *result);

/* Free what it holds with Slurm's allocator, as slurm_free_job_desc_msg(). */
void job_desc_free(job_desc_msg_t *desc);

#endif
