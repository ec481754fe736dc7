/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders stage_in and stage_out where scrun calls both at the same time.
 *
 * If the job ends or the container is deleted while stage_in runs, scrun calls stage_out from another thread, on the
 * same lua_State (anchor.c:stop_anchor, _stage_out). A lua_State has one call stack, so the second call must return
 * before the first one; and Python runs one event at a time. Therefore stage_out cancels stage_in and waits until the
 * handlers of stage_in have ended; stage_in then waits until stage_out has returned to scrun.
 */
#ifndef SLURMHOOKS_SCRUN_TURNS_H
#define SLURMHOOKS_SCRUN_TURNS_H

/* Call before the handlers of stage_in. IN cancelled: set to 1 if scrun calls stage_out while they run. */
void turns_begin_in(volatile int *cancelled);

/* Call after the handlers of stage_in. RET 1 if scrun has called stage_out, which has then returned; else 0. */
int turns_end_in(void);

/* Call before the handlers of stage_out: waits until those of stage_in have ended. */
void turns_begin_out(void);

/* Call at the end of stage_out. */
void turns_end_out(void);

#endif
