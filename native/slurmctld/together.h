/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts the workers of all plugins of slurmctld at the same time.
 *
 * slurmctld initializes one plugin after the other. When each waits for its hooks to load, as after 'scontrol
 * reconfigure', they load at the same time only if the first plugin starts the workers of all.
 */
#ifndef SLURMHOOKS_TOGETHER_H
#define SLURMHOOKS_TOGETHER_H

/*
 * Have each plugin that slurm.conf names start its workers, by its function SLURMHOOKS_START_WORKERS. Nothing waits.
 *
 * A plugin that this cannot open starts its workers later, in its init().
 */
void slurmhooks_start_together(void);

/* The name of a function that each plugin exports: it starts the plugin's workers unless they have been started. */
#define SLURMHOOKS_START_WORKERS "slurmhooks_start_workers"

#endif
