/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables of slurmctld's that slurmd lacks. slurmd loads prep_python.so, too: functions are looked up when they are
 * called, but variables when the library is opened, and a missing one must not keep slurmd from starting.
 */
#ifndef SLURMHOOKS_WEAK_H
#define SLURMHOOKS_WEAK_H

#pragma weak accounting_enforce
#pragma weak acct_db_conn
#pragma weak job_list
#pragma weak last_job_update
#pragma weak part_list
#pragma weak resv_list

#endif
