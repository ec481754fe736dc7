/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/groups.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64

/* What follows each struct in the answer. */
struct tally {
    uint32_t tag, size;
    uint64_t rows, jobs;
};

/* RET the size of the item at a place, without what fills it up. */
static size_t size_at(const struct slurmhooks_buffer *result, size_t place)
{
    uint32_t size;

    memcpy(&size, result->data + place + sizeof(uint32_t), sizeof(size));
    return 2 * sizeof(uint32_t) + size;
}

/* RET a hash of the item at a place (FNV-1a, eight bytes at a time: items are filled up with zeros). */
static uint64_t hash_at(const struct slurmhooks_buffer *result, size_t place)
{
    uint64_t hash = 0xcbf29ce484222325, part;

    for (size_t at = place, end = place + size_at(result, place); at < end; at += sizeof(part)) {
        memcpy(&part, result->data + at, sizeof(part));
        hash = (hash ^ part) * 0x100000001b3;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool alike(const struct slurmhooks_buffer *result, size_t one, size_t other)
{
    size_t size = size_at(result, one);

    return size == size_at(result, other) && !memcmp(result->data + one, result->data + other, size);
}

/* RET where the struct at a place belongs: that of one like it, or a free one. */
static size_t *find(const struct slurmhooks_groups *groups, const struct slurmhooks_buffer *result, size_t place)
{
    size_t at = hash_at(result, place) % groups->capacity;

    while (groups->places[at] && !alike(result, groups->places[at], place))
        at = (at + 1) % groups->capacity;
    return &groups->places[at];
}

/* Make room for one more. RET false if memory is short. */
static bool grow(struct slurmhooks_groups *groups, const struct slurmhooks_buffer *result)
{
    if (groups->count < groups->capacity / 2)
        return true;
    struct slurmhooks_groups larger = {.capacity = groups->capacity ? 2 * groups->capacity : FIRST_CAPACITY};
    larger.places = calloc(larger.capacity, sizeof(*larger.places));
    if (!larger.places)
        return false;
    for (size_t i = 0; i < groups->capacity; i++)
        if (groups->places[i])
            *find(&larger, result, groups->places[i]) = groups->places[i];
    free(groups->places);
    groups->places = larger.places;
    groups->capacity = larger.capacity;
    return true;
}

static void add(struct slurmhooks_buffer *result, size_t place, uint64_t jobs)
{
    struct tally tally;
    char *at = result->data + place + (size_at(result, place) + 7) / 8 * 8;

    memcpy(&tally, at, sizeof(tally));
    tally.rows++;
    tally.jobs += jobs;
    memcpy(at, &tally, sizeof(tally));
}

void slurmhooks_group(struct slurmhooks_groups *groups, struct slurmhooks_buffer *result, size_t start, uint64_t jobs)
{
    const uint64_t one[] = {1, jobs};

    if (result->failed)
        return;
    /* Neighbours are often alike: nodes of one line of slurm.conf, tasks of one array. */
    if (!groups->last || !alike(result, groups->last, start)) {
        if (!grow(groups, result)) {
            result->failed = true;
            return;
        }
        size_t *place = find(groups, result, start);
        if (!*place) {
            *place = groups->last = start;
            groups->count++;
            slurmhooks_put(result, SLURMHOOKS_TALLY, one, sizeof(one));
            return;
        }
        groups->last = *place;
    }
    add(result, groups->last, jobs);
    result->size = start;
}
