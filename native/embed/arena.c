/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first arenas for objects lie side by side where one large page of the kernel can hold them: one page fault fills
 * it, and a fork copies one entry of the table of pages instead of 512.
 */
#include "embed/arena.h"

#include <Python.h>

#include <sys/mman.h>

/* ARENA_SIZE of Objects/obmalloc.c. */
#define ARENA ((size_t)1024 * 1024)
#define LARGE_PAGE (2 * ARENA)

static PyObjectArenaAllocator below;

/* Where the first arenas are, and how much of it they have: objects are made with the GIL held. */
static char *range;
static size_t used;

/* Map a range that begins where a large page can. Untouched memory costs nothing. RET NULL if there is none. */
static char *map_range(void)
{
    char *mapped = mmap(NULL, 2 * LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)mapped & (LARGE_PAGE - 1);
    if (before)
        munmap(mapped, before);
    munmap(mapped + before + LARGE_PAGE, LARGE_PAGE - before);
    /* A kernel that does not want to maps small pages. */
    madvise(mapped + before, LARGE_PAGE, MADV_HUGEPAGE);
    return mapped + before;
}

/* The next arena of the range. RET NULL: it is used up. Once freed, an arena of it is unmapped like any other. */
static void *next_arena(void)
{
    if (!range && !(range = map_range()))
        used = LARGE_PAGE;
    if (used == LARGE_PAGE)
        return NULL;
    used += ARENA;
    return range + used - ARENA;
}

static void *take(void *context, size_t size)
{
    void *arena = size == ARENA ? next_arena() : NULL;

    (void)context;
    return arena ? arena : below.alloc(below.ctx, size);
}

static void give_back(void *context, void *block, size_t size)
{
    (void)context;
    below.free(below.ctx, block, size);
}

void arena_install(void)
{
    PyObjectArenaAllocator ours = {NULL, take, give_back};

    PyObject_GetArenaAllocator(&below);
    PyObject_SetArenaAllocator(&ours);
}
