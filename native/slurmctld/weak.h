/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes variables of slurmctld weak symbols. slurmd, which also loads prep_python.so, does not have them. Functions are
 * looked up when they are called, but variables when the library is loaded: without this, slurmd could not load it.
 */
#ifndef SLURMHOOKS_WEAK_H
#define SLURMHOOKS_WEAK_H

#pragma weak accounting_enforce
#pragma weak acct_db_conn
#pragma weak control_time
#pragma weak default_part_loc
#pragma weak job_list
#pragma weak last_job_update
#pragma weak part_list
#pragma weak resv_list
#pragma weak slurmctld_config

#endif
