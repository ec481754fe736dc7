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
 * Have each plugin that slurm.conf names start its workers, by its slurmhooks_start_workers(). Nothing waits.
 *
 * A plugin that this cannot open starts its workers later, in its init().
 */
void slurmhooks_start_together(void);

/* Start the workers of this plugin, unless they have been started. Plugins export it, for the others. */
void slurmhooks_start_workers(void);

#endif
