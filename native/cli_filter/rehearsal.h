/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tries writes of options in a forked child. Slurm's parser cannot be asked: a text that it refuses has overwritten the
 * former value, some texts end the process, an option's own text is not always accepted, and writing one option changes
 * others. The child answers by what Slurm has made of its copy.
 */
#ifndef SLURMHOOKS_CLI_FILTER_REHEARSAL_H
#define SLURMHOOKS_CLI_FILTER_REHEARSAL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * The method `rehearse` of the module: (address, [(name, value or None), ...], early).
 *
 * RET new: (whether Slurm accepted the last write, Slurm's messages, [(name, text or None), ...] of the options that
 * are then set); None in place of the list if the process would have ended. Or NULL with an exception.
 */
PyObject *rehearse(PyObject *self, PyObject *arguments);

#endif
