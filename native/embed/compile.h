/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_COMPILE_H
#define SLURMHOOKS_EMBED_COMPILE_H

/*
 * Make the module _slurmhooks_compile, with which slurmhooks/handlers/loader.py compiles hook files. The caller holds
 * the GIL.
 *
 * RET 0, or -1 with an exception
 */
int compile_install(void);

#endif
