/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_FROZEN_H
#define SLURMHOOKS_EMBED_FROZEN_H

#include <Python.h>

/* The modules that are part of this library (native/frozen.py). */
extern const struct _frozen slurmhooks_frozen_modules[];

#endif
