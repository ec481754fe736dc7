/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files that control what root does, unless another user could have written them. slurmhooks/files/trusted.py has
 * the same rules.
 */
#ifndef SLURMHOOKS_TRUSTED_H
#define SLURMHOOKS_TRUSTED_H

#include <stddef.h>

/*
 * Open a regular file for reading.
 *
 * If the real user is root, every component of the path, links included, must belong to root and must not be writable
 * by its group or by others. For other users only the file itself is checked, and may also belong to that user.
 *
 * IN path   absolute
 * OUT why   with EPERM: the component, what is wrong with it, and the command that repairs it; else unchanged
 * RET a descriptor, or -1 with errno: EPERM if the file cannot be trusted
 */
int trusted_open(const char *path, char *why, size_t size);

#endif
