/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is behind a spank_t here: an in-memory job, and where in its life Slurm is. */
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

/* Of the one job there is. The numbers that no script changes stand in spank_items.c. */
struct fake_job {
    uint32_t id;
    struct strings argv; /* also that of the task that is about to start */
    struct strings env;
    struct strings control_env;
    struct strings refused; /* variables that are not taken, as if memory were short */
    struct fake_task tasks[FAKE_LOCAL_TASKS];
};

extern struct fake_job fake_job;

struct spank_handle {
    int magic;
    const struct plugin *plugin;
    const char *phase; /* the callback, without slurm_spank_ */
    spank_context_t context;
    bool has_job;           /* spank->job of Slurm is not NULL */
    struct fake_task *task; /* NULL outside the task callbacks */
};

/* Whether the handle is in one of the phases; the names end with NULL. */
bool fake_phase(const struct spank_handle *spank, ...) __attribute__((sentinel));

/* spank_options.c: what spank_option_register() took. */
struct fake_option {
    const struct plugin *plugin;
    struct spank_option option;
    bool found; /* the user gave it */
    char *argument;
};

/* Return a registered option of a plugin, or of any plugin if that is NULL; NULL if there is none. */
struct fake_option *fake_option(const struct plugin *plugin, const char *name);

/* Return the option of that number, NULL behind the last. */
const struct fake_option *fake_option_number(int number);

#endif
