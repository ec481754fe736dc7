/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends an anchor that has finished its work but does not exit.
 *
 * After stage_out the anchor completes the job, removes its spool folder and shuts down (anchor.c:_check_if_stopped).
 * Sometimes the shutdown hangs: after a failed stage_in, 26.05 waits forever for a connection that it has suspended
 * itself (CON_FLAG_QUIESCE), while `scrun create` waits for the anchor; 24.11 sometimes loops. The watchdog ends an
 * anchor that still runs some seconds after its spool folder was removed. `scrun create` then returns the exit code
 * that the watchdog sets.
 */
#ifndef SLURMHOOKS_SCRUN_WATCHDOG_H
#define SLURMHOOKS_SCRUN_WATCHDOG_H

/*
 * Start the watchdog's thread.
 *
 * IN spool_dir  is copied; without a spool folder no watchdog is started
 * IN failed     whether the anchor is to end with a failure, since the container was not staged in
 */
void watchdog_start(const char *spool_dir, int failed);

#endif
