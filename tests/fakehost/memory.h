/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's allocator, as src/common/xmalloc.c exports it to plugins, with a counter of blocks that are not freed. */
#ifndef FAKEHOST_MEMORY_H
#define FAKEHOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool may_fail, const char *file, int line,
                    const char *function);
void slurm_xfree(void **item);
char *slurm_xstrdup(const char *text);

/* RET the number of blocks that have not been freed. */
long memory_balance(void);

#endif
