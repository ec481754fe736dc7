/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of a staging function, for Python. */
#ifndef SLURMHOOKS_SCRUN_CONTAINER_H
#define SLURMHOOKS_SCRUN_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

struct slurmhooks_container {
    const char *id;
    const char *bundle;
    const char *orig_bundle;    /* NULL in stage_in */
    const char *root_path;      /* NULL in stage_in */
    const char *orig_root_path; /* NULL in stage_in */
    const char *spool_dir;
    const char *config_file;
    uint32_t job_id;
    uint32_t user_id;
    uint32_t group_id;
    const char **job_env;   /* "NAME=value" strings, ends with NULL; NULL in stage_out */
    void *lua;              /* a Lua thread (lua_State) for this call alone */
    volatile int cancelled; /* set when scrun calls stage_out while stage_in still runs */

    /*
     * Call a function of the table `slurm`, which scrun gives to Lua scripts, with one string as argument.
     *
     * OUT status  its first result if that is a number, else 0
     * OUT output  its last result as text, or the message of its error; from malloc(), freed by the caller; may be NULL
     * OUT length  of the output
     * RET 0, or -1 if it raised a Lua error
     */
    int (*ask)(struct slurmhooks_container *container, const char *function, const char *argument, int *status,
               char **output, size_t *length);
};

#endif
