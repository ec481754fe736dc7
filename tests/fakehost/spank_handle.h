/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a spank_t points to here: a job in memory, and the running callback. */
#ifndef FAKEHOST_SPANK_HANDLE_H
#define FAKEHOST_SPANK_HANDLE_H

#include <slurm/spank.h>
#include <slurm/slurm_errno.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin.h"
#include "string_array.h"

#define FAKE_MAGIC 0x00a5a500
#define FAKE_LOCAL_TASKS 2
#define FAKE_TOTAL_TASKS 4

struct fake_task {
    int id;
    uint32_t global_id;
    pid_t pid;
    bool exited;
    int exit_status;
};

/* The only job. Numbers that scripts do not change are in spank_items.c. */
struct fake_job {
    uint32_t id;
    struct strings argv; /* includes the task that is about to start */
    struct strings env;
    struct strings control_env;
    struct strings refused; /* variables that cannot be set, as if memory were short */
    struct fake_task tasks[FAKE_LOCAL_TASKS];
};

extern struct fake_job fake_job;

struct spank_handle {
    int magic;
    const struct plugin *plugin;
    const char *phase; /* the callback, without slurm_spank_ */
    spank_context_t context;
    bool has_job;           /* spank->job is not NULL in Slurm */
    struct fake_task *task; /* NULL outside the task callbacks */
};

/* RET whether one of these callbacks runs. The names end with NULL. */
bool fake_phase(const struct spank_handle *spank, ...) __attribute__((sentinel));

/* spank_options.c: an option that spank_option_register() has accepted. */
struct fake_option {
    const struct plugin *plugin;
    struct spank_option option;
    bool given; /* by the user */
    char *argument;
};

/* RET a registered option, or NULL. IN plugin: NULL for any plugin. */
struct fake_option *fake_option(const struct plugin *plugin, const char *name);

/* RET an option by its number from 0, or NULL after the last one. */
const struct fake_option *fake_option_number(int number);

#endif
