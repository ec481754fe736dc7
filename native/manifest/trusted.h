/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a file that a process of root obeys, unless somebody else could have written it; as slurmhooks/trusted.py. */
#ifndef SLURMHOOKS_TRUSTED_H
#define SLURMHOOKS_TRUSTED_H

#include <stddef.h>

/*
 * Open a regular file for reading. Where the real user is root, every component of the path is judged: it must belong
 * to root, and neither its group nor others may write it. Elsewhere only the file is, and may be the user's own.
 *
 * IN path   absolute
 * OUT why   what is wrong, with the component and the command that repairs it; unchanged if the file cannot be opened
 * RET a descriptor, or -1 with errno: EPERM if the file cannot be trusted
 */
int trusted_open(const char *path, char *why, size_t size);

#endif
