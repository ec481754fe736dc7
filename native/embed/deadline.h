/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_DEADLINE_H
#define SLURMHOOKS_EMBED_DEADLINE_H

/*
 * Make the module _slurmhooks_deadline, which slurmhooks/handlers/deadline.py uses. The caller holds the GIL.
 *
 * RET 0, or -1 with an exception
 */
int deadline_install(void);

/* End the time limit of the last handler, if its Python code did not get to do so. */
void deadline_over(void);

#endif
