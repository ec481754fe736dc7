/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lets stage_out in after stage_in, and out before it.
 *
 * When the job ends or the container is deleted while stage_in runs, scrun calls stage_out at once from another
 * thread, on the same lua_State (anchor.c:stop_anchor, _stage_out). Lua keeps one stack of calls for a state, so the
 * call that came in last must leave first; and Python runs one event at a time. So stage_out tells stage_in that it
 * is cancelled and waits until its handlers have ended; stage_in then waits until stage_out has left Lua.
 */
#ifndef SLURMHOOKS_SCRUN_TURNS_H
#define SLURMHOOKS_SCRUN_TURNS_H

/* Before the handlers of stage_in. IN cancelled: set when stage_out comes in while they run */
void turns_begin_in(volatile int *cancelled);

/* After the handlers of stage_in. RET true if stage_out came meanwhile, which has left Lua then. */
int turns_end_in(void);

/* Before the handlers of stage_out: waits until those of stage_in have ended. */
void turns_begin_out(void);

/* Last of all in stage_out. */
void turns_end_out(void);

#endif
