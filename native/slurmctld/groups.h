/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the rows of an answer that are alike, instead of sending each. */
#ifndef SLURMHOOKS_GROUPS_H
#define SLURMHOOKS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

struct slurmhooks_groups {
    size_t *places; /* of the structs in the answer, by their hash; 0: none */
    size_t capacity, count;
    size_t last; /* the struct that was like the row before */
};

/* Count a row that has just been appended to the answer: once it is like another one, it is removed again. */
void slurmhooks_group(struct slurmhooks_groups *groups, struct slurmhooks_buffer *result, size_t start, uint64_t jobs);

#endif
