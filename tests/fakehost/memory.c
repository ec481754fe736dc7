/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* As in Slurm, each block begins with two words that the caller does not see: a magic number and the size. */
#define MAGIC ((size_t)0x42)

static atomic_long alive;

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool may_fail, const char *file, int line,
                    const char *function)
{
    (void)file;
    (void)line;
    (void)function;
    if (!count || !size)
        return NULL;
    if (count > SIZE_MAX / size / 4) {
        if (may_fail)
            return NULL;
        abort();
    }
    size_t bytes = count * size + 2 * sizeof(size_t);
    size_t *header = clear ? calloc(1, bytes) : malloc(bytes);
    if (!header)
        abort();
    header[0] = MAGIC;
    header[1] = count * size;
    alive++;
    return header + 2;
}

void slurm_xfree(void **item)
{
    if (!*item)
        return;
    size_t *header = (size_t *)*item - 2;
    if (header[0] != MAGIC) {
        output_log("FATAL", "slurm_xfree() of a pointer that is not from slurm_xmalloc()");
        abort();
    }
    header[0] = 0;
    free(header);
    *item = NULL;
    alive--;
}

char *slurm_xstrdup(const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    char *copy = slurm_xcalloc(1, size, false, false, NULL, 0, NULL);
    memcpy(copy, text, size);
    return copy;
}

long memory_balance(void)
{
    return alive;
}
