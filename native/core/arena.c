/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmctld calls from a fresh thread for every RPC, and CPython gives every new thread a stack chunk of its own: one
 * mmap and one munmap a call, most of what entering the interpreter costs. So a few freed blocks are kept.
 */
#include <Python.h>

#include "interpreter.h"

#define KEPT 8
/* What a new thread asks for (_PY_DATA_STACK_CHUNK_SIZE); other sizes pass through. */
#define SIZE ((size_t)16 * 1024)

static PyObjectArenaAllocator below;
/* Taken and given back by atomic exchange: thread states are made without the GIL. */
static void *kept[KEPT];

static void *take(void *context, size_t size)
{
    (void)context;
    for (int i = 0; size == SIZE && i < KEPT; i++) {
        void *block =
            __atomic_load_n(&kept[i], __ATOMIC_RELAXED) ? __atomic_exchange_n(&kept[i], NULL, __ATOMIC_ACQUIRE) : NULL;
        if (block)
            return block;
    }
    return below.alloc(below.ctx, size);
}

static void give_back(void *context, void *block, size_t size)
{
    (void)context;
    for (int i = 0; size == SIZE && i < KEPT; i++) {
        void *empty = NULL;
        if (__atomic_compare_exchange_n(&kept[i], &empty, block, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return;
    }
    below.free(below.ctx, block, size);
}

void arena_install(void)
{
    PyObjectArenaAllocator ours = {NULL, take, give_back};

    PyObject_GetArenaAllocator(&below);
    PyObject_SetArenaAllocator(&ours);
}
