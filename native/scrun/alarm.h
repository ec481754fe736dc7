/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps an anchor alive whose timer goes off before scrun listens.
 *
 * To look whether the job has its nodes scrun sets a timer of a nanosecond (alloc.c:get_allocation, conmgr/delayed.c),
 * in a thread that may be quicker than the one that gives SIGALRM a handler (conmgr/signals.c:signal_mgr_start). On a
 * busy machine the anchor then dies of signal 14 (seen with 24.11). So until scrun has its handler, the signal comes
 * again.
 */
#ifndef SLURMHOOKS_SCRUN_ALARM_H
#define SLURMHOOKS_SCRUN_ALARM_H

/* In the child of a fork, before scrun goes on there. */
void alarm_keep(void);

#endif
