/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_LOG_H
#define SLURMHOOKS_LOG_H

/* Resolved from the process that loads us, as for every Slurm plugin. */
extern void slurm_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line in Slurm's log at level error, with our prefix. */
#define log_error(format, ...) slurm_error("slurmhooks: " format, ##__VA_ARGS__)

#endif
