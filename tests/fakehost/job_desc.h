/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates requests from the words of a script, and prints their members after a call. */
#ifndef FAKEHOST_JOB_DESC_H
#define FAKEHOST_JOB_DESC_H

#include <slurm/slurm.h>

#include <stdio.h>

#include "script.h"

/* Fill a request from FIELD=VALUE, where VALUE is a number, NO_VAL, INFINITE or a text. argv=, environment= and
 * spank_job_env= may be repeated. */
void job_desc_fill(job_desc_msg_t *desc, const struct line *line);

/* Add all members to a result. */
void job_desc_print(const job_desc_msg_t *desc, FILE *result);

/* Free the texts and arrays of a request, as slurm_free_job_desc_msg() does. */
void job_desc_free(job_desc_msg_t *desc);

#endif
