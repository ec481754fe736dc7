/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the folder of the sets. slurmhooks/files/home.py has the same rules.
 */
#ifndef SLURMHOOKS_HOME_H
#define SLURMHOOKS_HOME_H

#include <stddef.h>

/*
 * Find a file in the home: beside slurm.conf, or in the folder that the file slurmhooks.home there names.
 *
 * IN name    of the file
 * OUT path   its absolute path
 * OUT why    if -1 is returned: the reason; a constant, or valid until the next call
 * RET 0, or -1
 */
int home_path(const char *name, char *path, size_t size, const char **why);

#endif
