/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds options of a job that this node does not have: Slurm ignores them, and the job runs without them.
 *
 * The environment of a step names the options that the job was given. Slurm removes them from it before init_post_opt,
 * so they are noted at init.
 */
#ifndef SLURMHOOKS_MISSING_H
#define SLURMHOOKS_MISSING_H

#include <slurm/spank.h>

/* In slurmstepd: note the options of the job that are in the environment of the step. Only the first call does. */
void missing_note(spank_t spank);

/* Cross off an option that this node has. */
void missing_known(const char *name);

/* Cross off options. IN names: their names, each followed by a blank; or NULL. */
void missing_known_list(char *names);

/* Log the options that no line of plugstack.conf has. Only the first call does. */
void missing_log(void);

/* Tell the user which options are missing. RET whether there are any. */
int missing_refuse(void);

#endif
