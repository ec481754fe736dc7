/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_RENEWAL_H
#define SLURMHOOKS_RENEWAL_H

/*
 * Let slurmd write the hook manifest when it starts or is reconfigured, so that nobody has to remember it after an
 * edit.
 *
 * Runs 'slurmhooks compile', once in a process, and waits for it. What it prints goes into the log.
 *
 * IN why  why there is no manifest, for the log
 * RET whether the manifest must be read again; 0 if this process may not write it, or is told not to
 */
int renewal_run(const char *why);

#endif
