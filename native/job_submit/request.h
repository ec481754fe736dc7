/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Lua scripts ask of a request in C, because a call for each text of an array costs more than the work itself. */
#ifndef SLURMHOOKS_REQUEST_H
#define SLURMHOOKS_REQUEST_H

#include <stdint.h>
#include <string.h>

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
