/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_TASKS_H
#define SLURMHOOKS_TASKS_H

#include <Python.h>

extern PyTypeObject tasks_type;

#endif
