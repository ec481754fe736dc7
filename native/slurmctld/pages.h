/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers questions about the records of a table: finds one or some by their keys, or lists, or counts, all that meet
 * conditions, page by page.
 */
#ifndef SLURMHOOKS_PAGES_H
#define SLURMHOOKS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slurmctld/event.h"
#include "wire/wire.h"

/* A question that is being answered. */
struct slurmhooks_question {
    const struct slurmhooks_event *event;
    struct slurmhooks_header header;
    const void *data;
    size_t size;
    struct slurmhooks_buffer result;
    uint32_t next; /* the record with which the next page begins; 0: this page is the last one */
    uint32_t from; /* the record from which the answer counts */
};

/* Read the next item, a text. OUT text: NULL if there is no item, or it is empty. RET false if it is not a text */
bool slurmhooks_next_text(const struct slurmhooks_question *question, size_t *position, char **text);

/* RET false if the question is invalid */
bool slurmhooks_answer_row(struct slurmhooks_question *question);
bool slurmhooks_answer_page(struct slurmhooks_question *question);
bool slurmhooks_answer_rows(struct slurmhooks_question *question);
bool slurmhooks_answer_count(struct slurmhooks_question *question);

#endif
