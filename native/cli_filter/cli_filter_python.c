/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin of CliFilterPlugins: calls slurmhooks.entry.cli_filter for each call of Slurm that has a handler. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli_filter/options.h"
#include "entry.h"
#include "log.h"
#include "manifest/manifest.h"
#include "stub/stub.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char plugin_name[] = "slurmhooks cli_filter plugin";
EXPORTED const char plugin_type[] = "cli_filter/python";
EXPORTED const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* The return code for Slurm if Python has failed: the command ends. */
#define FAILED SLURM_ERROR

/* RET the running command, recognized by an option that only this command has. */
static enum slurmhooks_command command_of(slurm_opt_t *opt)
{
    enum slurmhooks_command command = COMMAND_scrontab;
    char *letters = NULL;
    struct option *table = slurm_option_table_create(opt, &letters);

    for (const struct option *option = table; option && option->name; option++) {
        if (!strcmp(option->name, "wrap"))
            command = COMMAND_sbatch;
        else if (!strcmp(option->name, "label"))
            command = COMMAND_srun;
        else if (!strcmp(option->name, "no-shell"))
            command = COMMAND_salloc;
    }
    slurm_option_table_destroy(table);
    slurm_xfree((void **)&letters);
    return command;
}

static int has_handlers(const struct manifest_line *line)
{
    for (int i = 0; i < FILTER_COUNT; i++)
        if (line->calls[i])
            return 1;
    return 0;
}

/* IN opt  NULL after the submission, when the command is already known */
static int call(enum filter which, slurm_opt_t *opt, int early, int offset, uint32_t job_id, uint32_t step_id)
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.cli_filter", "call", NULL};
    static enum slurmhooks_command command;
    static int known = -1;
    struct slurmhooks_outcome outcome;
    const char *why;
    const struct manifest_line *line = manifest_find_point(MANIFEST_CLI_FILTER, &why);

    if (line && !has_handlers(line))
        return 0;
    if (opt && known < 0)
        command = command_of(opt);
    if (known < 0 && !line)
        slurm_debug("slurmhooks: no hook manifest (%s): Python starts in every command; run 'slurmhooks deploy'", why);
    known = line != NULL;
    if (line && !(line->calls[which] & (1u << command)))
        return 0;
    if (STUB_CALL(&entry, &outcome, which, command, (intptr_t)opt, early, offset, job_id, step_id,
                  line ? (intptr_t)line->text : 0))
        return FAILED;
    free(outcome.message);
    return outcome.rc;
}

EXPORTED int cli_filter_p_setup_defaults(slurm_opt_t *opt, bool early)
{
    LEAVES_ERRNO(errno);
    return call(FILTER_setup_defaults, opt, early, 0, NO_VAL, NO_VAL);
}

EXPORTED int cli_filter_p_pre_submit(slurm_opt_t *opt, int offset)
{
    LEAVES_ERRNO(errno);
    return call(FILTER_pre_submit, opt, 0, offset, NO_VAL, NO_VAL);
}

EXPORTED void cli_filter_p_post_submit(int offset, uint32_t job_id, uint32_t step_id)
{
    LEAVES_ERRNO(errno);
    call(FILTER_post_submit, NULL, 0, offset, job_id, step_id);
}
