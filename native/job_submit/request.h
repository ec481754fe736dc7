/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the view of a request does in C, because a call out of Python costs more than the work
 * itself. */
#ifndef SLURMHOOKS_REQUEST_H
#define SLURMHOOKS_REQUEST_H

#include <stdint.h>
#include <string.h>

/*
 * Replace a text member.
 * IN record, offset - where the member is; its old text is freed
 * IN text - copied with Slurm's allocator, which will free it; NULL for none
 */
static void slurmhooks_set_text(void *record, size_t offset, const char *text)
{
    char **member = (char **)((char *)record + offset);

    slurm_xfree((void **)member);
    if (text)
        *member = slurm_xstrdup(text);
}

/*
 * Find a variable in an environment array.
 * IN record - with a char ** at array, and a uint32_t with its size at count
 * IN name - followed by its '='
 * IN length - of name with the '='
 * RET its value, borrowed; NULL if it is not set
 */
static const char *slurmhooks_find(void *record, size_t array, size_t count, const char *name, size_t length)
{
    char **items = *(char ***)((char *)record + array);
    uint32_t size = *(uint32_t *)((char *)record + count);

    for (uint32_t i = 0; items && i < size && items[i]; i++)
        if (!strncmp(items[i], name, length))
            return items[i] + length;
    return NULL;
}

#endif
