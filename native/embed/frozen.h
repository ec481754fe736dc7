/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_FROZEN_H
#define SLURMHOOKS_EMBED_FROZEN_H

#include <Python.h>

/* The Python modules that are compiled into this library (written by native/frozen.py). */
extern const struct _frozen slurmhooks_frozen_modules[];

#endif
