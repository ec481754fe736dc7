/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions for the records of a table: one by its key, or all that meet conditions, a page at a time. */
#ifndef SLURMHOOKS_PAGES_H
#define SLURMHOOKS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slurmctld/queries.h"
#include "wire/wire.h"

/* A question that is being answered. */
struct slurmhooks_question {
    const struct slurmhooks_event *event;
    struct slurmhooks_header header;
    const void *data;
    size_t size;
    struct slurmhooks_buffer result;
    uint32_t next; /* where the next page begins; 0: there is none */
};

/* Read the next text among the items. RET false: there is none, or it is none. OUT text: NULL for an empty item */
bool slurmhooks_next_text(const struct slurmhooks_question *question, size_t *position, char **text);

/* RET false: the question makes no sense */
bool slurmhooks_answer_row(struct slurmhooks_question *question);
bool slurmhooks_answer_page(struct slurmhooks_question *question);

#endif
