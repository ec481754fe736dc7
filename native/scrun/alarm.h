/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps an anchor alive if its timer expires before scrun handles SIGALRM.
 *
 * To check whether the job has its nodes, scrun sets a timer of one nanosecond (alloc.c:get_allocation,
 * conmgr/delayed.c), in a thread that may be faster than the one that installs the handler of SIGALRM
 * (conmgr/signals.c:signal_mgr_start). On a busy machine the anchor then dies of signal 14 (seen with 24.11). Therefore
 * a handler in this file repeats the signal until scrun has installed its own.
 */
#ifndef SLURMHOOKS_SCRUN_ALARM_H
#define SLURMHOOKS_SCRUN_ALARM_H

/* Install the handler. Called in the child of a fork, before scrun continues there. */
void alarm_keep(void);

#endif
