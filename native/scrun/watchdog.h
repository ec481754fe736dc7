/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends an anchor that has done its work but does not end.
 *
 * After stage_out the anchor completes the job, removes its spool folder and shuts down (anchor.c:_check_if_stopped).
 * The shutdown fails at times: after a failed stage_in, 26.05 waits for ever for a connection that it has itself put to
 * sleep (CON_FLAG_QUIESCE), while `scrun create` waits for the anchor; 24.11 sometimes spins. An anchor that is still
 * there some seconds after its spool folder has gone is ended; `scrun create` then returns, with our exit code.
 */
#ifndef SLURMHOOKS_SCRUN_WATCHDOG_H
#define SLURMHOOKS_SCRUN_WATCHDOG_H

/*
 * IN spool_dir  copied
 * IN failed     the container was not staged in
 */
void watchdog_start(const char *spool_dir, int failed);

#endif
