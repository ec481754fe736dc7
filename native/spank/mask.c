/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/mask.h"

#include <sys/stat.h>

static int daemons = -1; /* slurmd's umask; -1: unknown */

int mask_begin(enum callback callback_id)
{
    switch (callback_id) {
    case CALLBACK_init:
        daemons = (int)umask(077);
        umask((mode_t)daemons);
        return -1;
    case CALLBACK_task_post_fork:
    case CALLBACK_task_exit:
    case CALLBACK_exit: return daemons < 0 ? -1 : (int)umask((mode_t)daemons);
    default: return -1;
    }
}

void mask_end(int jobs)
{
    if (jobs < 0)
        return;
    mode_t now = umask((mode_t)jobs);
    if ((int)now != daemons)
        umask(now);
}
