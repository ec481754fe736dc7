/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The umask of handlers that slurmstepd itself runs as root. After init, slurmstepd has the umask of the job, which the
 * user chooses, and with it the permissions of files that root creates.
 */
#ifndef SLURMHOOKS_MASK_H
#define SLURMHOOKS_MASK_H

#include "spank/lines.h"

/*
 * Before a callback of slurmstepd: note its umask in init; later, give it this umask where no task gets it.
 *
 * RET the umask that mask_end() must restore, or -1
 */
int mask_begin(enum callback callback_id);

/* Restore what mask_begin() returned, unless a handler has set another umask. */
void mask_end(int jobs);

#endif
