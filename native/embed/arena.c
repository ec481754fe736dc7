/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython takes memory for objects in arenas of 1 MiB. The first two are placed side by side, where the kernel can map
 * them as one large page: filling it costs one page fault, and a fork copies one page-table entry instead of 512.
 */
#include "embed/arena.h"

#include <Python.h>

#include <sys/mman.h>

/* As ARENA_SIZE in CPython's Objects/obmalloc.c. */
#define ARENA ((size_t)1024 * 1024)
#define LARGE_PAGE (2 * ARENA)

/* CPython's own allocator: serves requests that the range cannot, and frees all arenas. */
static PyObjectArenaAllocator original;

/* The range for the first arenas, and how much of it is in use. The GIL protects both. */
static char *range;
static size_t used;

/* Map a range that is aligned to a large page. Its pages take no memory until they are used. RET NULL on failure. */
static char *map_range(void)
{
    char *mapped = mmap(NULL, 2 * LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapped == MAP_FAILED)
        return NULL;
    size_t unaligned = -(uintptr_t)mapped & (LARGE_PAGE - 1);
    if (unaligned)
        munmap(mapped, unaligned);
    munmap(mapped + unaligned + LARGE_PAGE, LARGE_PAGE - unaligned);
    /* Only a hint: the kernel may still use small pages. */
    madvise(mapped + unaligned, LARGE_PAGE, MADV_HUGEPAGE);
    return mapped + unaligned;
}

/* RET the next arena of the range, or NULL if the range is used up. A freed arena is unmapped, not used again. */
static void *next_arena(void)
{
    if (!range && !(range = map_range()))
        used = LARGE_PAGE;
    if (used == LARGE_PAGE)
        return NULL;
    used += ARENA;
    return range + used - ARENA;
}

static void *allocate(void *context, size_t size)
{
    void *arena = size == ARENA ? next_arena() : NULL;

    (void)context;
    return arena ? arena : original.alloc(original.ctx, size);
}

static void release(void *context, void *block, size_t size)
{
    (void)context;
    original.free(original.ctx, block, size);
}

void arena_install(void)
{
    PyObjectArenaAllocator with_range = {NULL, allocate, release};

    PyObject_GetArenaAllocator(&original);
    PyObject_SetArenaAllocator(&with_range);
}
