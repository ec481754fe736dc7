/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tasks of slurmstepd, its forks, allocate, and what is made for them before. CPython keeps blocks of each
 * size apart, and some objects of each type to be used again: a task that makes a few of everything would write to, and
 * so copy, a page for each. Here they come one after the other from memory of their own.
 */
#include <Python.h>

#include <string.h>
#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "interpreter.h"

/* What a few handlers need, before the fork and after it; the rest comes from where it came before. */
#define ROOM_BEFORE ((size_t)256 * 1024)
#define ROOM_AFTER ((size_t)128 * 1024)
#define LARGEST ((size_t)1024)
#define ALIGNMENT 16

/* In front of a block; as long as the alignment asks for. */
struct head {
    size_t size;
    size_t unused;
};

/* All of it, and what is free of the part in use. */
static char *room, *next, *end;

static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
#define DOMAINS (sizeof(domains) / sizeof(domains[0]))
static PyMemAllocatorEx below[DOMAINS];

static int ours(const void *block)
{
    return (const char *)block >= room && (const char *)block < room + ROOM_BEFORE + ROOM_AFTER;
}

static struct head *head_of(void *block)
{
    return (struct head *)block - 1;
}

/* RET NULL: too large, or no room left. */
static void *take(size_t size)
{
    size_t whole = size ? (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;

    if (size > LARGEST || sizeof(struct head) + whole > (size_t)(end - next))
        return NULL;
    struct head *head = (struct head *)next;
    head->size = whole;
    next += sizeof(struct head) + whole;
    return head + 1;
}

static void *task_malloc(void *context, size_t size)
{
    const PyMemAllocatorEx *from = context;
    void *block = take(size);

    return block ? block : from->malloc(from->ctx, size);
}

static void *task_calloc(void *context, size_t count, size_t size)
{
    const PyMemAllocatorEx *from = context;
    void *block = size && count > LARGEST / size ? NULL : take(count * size);

    if (!block)
        return from->calloc(from->ctx, count, size);
    return memset(block, 0, count * size);
}

/* The last block is given back; others stay, as tasks end soon. */
static void task_free(void *context, void *block)
{
    const PyMemAllocatorEx *from = context;

    if (!ours(block))
        from->free(from->ctx, block);
    else if ((char *)block + head_of(block)->size == next)
        next = (char *)head_of(block);
}

static void *task_realloc(void *context, void *block, size_t size)
{
    const PyMemAllocatorEx *from = context;

    if (block && !ours(block))
        return from->realloc(from->ctx, block, size);
    size_t had = block ? head_of(block)->size : 0;
    if (block && size <= had)
        return block;
    void *larger = task_malloc(context, size);
    if (larger && block) {
        memcpy(larger, block, had);
        task_free(context, block);
    }
    return larger;
}

void task_memory_begin(void)
{
#ifdef Py_GIL_DISABLED
    /* Objects must come from its own allocator there. */
    return;
#endif
    if (room)
        return;
    void *mapped = mmap(NULL, ROOM_BEFORE + ROOM_AFTER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return;
#ifdef __SANITIZE_ADDRESS__
    /* What is referred to from here alone is not lost. */
    __lsan_register_root_region(mapped, ROOM_BEFORE + ROOM_AFTER);
#endif
    room = next = mapped;
    end = room + ROOM_BEFORE;
    for (size_t i = 0; i < DOMAINS; i++) {
        PyMem_GetAllocator(domains[i], &below[i]);
        PyMemAllocatorEx mine = {&below[i], task_malloc, task_calloc, task_realloc, task_free};
        PyMem_SetAllocator(domains[i], &mine);
    }
}

void task_memory_forked(void)
{
    if (!room || end != room + ROOM_BEFORE)
        return;
    next = room + ROOM_BEFORE;
    end = next + ROOM_AFTER;
}
