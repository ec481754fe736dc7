/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm's functions for the options of srun, sbatch, salloc and scrontab (src/common/slurm_opt.h, src/common/spank.h).
 * Public headers do not declare them, but all releases export them. They take options by name: slurm_opt_t is opaque.
 */
#ifndef SLURMHOOKS_CLI_FILTER_OPTIONS_H
#define SLURMHOOKS_CLI_FILTER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option; /* of getopt.h */

typedef struct slurmhooks_options slurm_opt_t; /* opaque */

/* RET the value of an option, freed with slurm_xfree(); or NULL. */
extern char *slurm_option_get(slurm_opt_t *opt, const char *name);
extern int slurm_option_set(slurm_opt_t *opt, const char *name, const char *value, bool early);
extern bool slurm_option_reset(slurm_opt_t *opt, const char *name);
extern bool slurm_option_get_next_set(slurm_opt_t *opt, char **name, char **value, size_t *state);

/* The long options of the running command, with those of SPANK plugins; ends with a name that is NULL. */
extern struct option *slurm_option_table_create(slurm_opt_t *opt, char **opt_string);
extern void slurm_option_table_destroy(struct option *table);

/* RET how many there are. The arrays end with NULL; each text and the array are freed with slurm_xfree(). */
extern size_t spank_get_plugin_names(char ***names);
extern size_t spank_get_plugin_option_names(const char *plugin, char ***names);
extern char *spank_option_get(char *name);

extern void slurm_xfree(void **memory);

#endif
