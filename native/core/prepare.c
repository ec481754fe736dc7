/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the start of Python spends in the kernel, done beforehand by a thread that nobody waits for: most of libpython's
 * code is mapped page by page, when it first runs, and a thousandth of a second goes into that and into memory.
 */
#include <Python.h>

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreter.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; an older kernel refuses, and maps pages later */
#endif

static int holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return 1;
    }
    return 0;
}

/* Map the code and the constants of libpython. */
static int map_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)size;
    (void)unused;
    if (!holds(info, (uintptr_t)Py_InitializeFromConfig))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr, first = start & ~(page - 1);
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
            madvise((void *)first, start + segment->p_memsz - first, MADV_POPULATE_READ);
    }
    return 1;
}

void prepare(void)
{
    if (Py_IsInitialized())
        return;
    dl_iterate_phdr(map_library, NULL);
    arena_prepare();
}
