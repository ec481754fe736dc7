/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each function that Slurm calls begins with.
 *
 * Slurm reads errno after calls of its own that need not set it: slurmctld's _update_job() takes it as the error of an
 * update. So a function that has succeeded must not leave the errno of a system call behind, such as EAGAIN.
 */
#ifndef SLURMHOOKS_ENTRY_H
#define SLURMHOOKS_ENTRY_H

#include <errno.h>

static inline void slurmhooks_set_errno(const int *value)
{
    errno = *value;
}

/* Let errno have a value when the enclosing function returns, by whichever way. LEAVES_ERRNO(errno): its old value. */
#define LEAVES_ERRNO(value) const int errno_left __attribute__((cleanup(slurmhooks_set_errno))) = (value)

#endif
