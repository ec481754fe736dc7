/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SPANK plugin: calls slurmhooks.entry.spank for each callback of Slurm that has a handler.
 *
 * This file is compiled once and linked twice (native/meson.build). The lean variant does not export the callbacks that
 * cost time merely by being exported: Slurm then starts a process for each prolog and epilog, and a clone for each
 * task.
 */
#include <slurm/slurm.h>
#include <slurm/spank.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entry.h"
#include "spank/lines.h"
#include "spank/mask.h"
#include "spank/missing.h"
#include "stub/stub.h"

/* Part of the names of environment variables with which users may give options: _SLURM_SPANK_OPTION_python_NAME. */
SPANK_PLUGIN(python, 1)

/* The return code for Slurm if Python has failed. Before 25.05 slurmstepd treats only negative codes as failures. */
#define FAILED (-ESPANK_ERROR)
#define BIT(context) (1u << (context))

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
/* If init() has failed, Slurm reads this variable in place of the return code. */
int slurm_spank_init_failure_mode = ESPANK_NODE_FAILURE;

/*
 * Return the code for slurmstepd if init fails: that of the handler's Reject, or else the failure mode on
 * the line of plugstack.conf, or else rc. This also applies to init_post_opt, because with a manifest Python does not
 * start earlier.
 */
static int by_mode(const struct line *line, enum callback callback_id, unsigned context, int rc)
{
    int chosen_by_handler = rc == ESPANK_NODE_FAILURE || rc == ESPANK_JOB_FAILURE;

    if (rc && !chosen_by_handler && line->mode != FAILURE_UNSET && context == S_CTX_REMOTE &&
        (callback_id == CALLBACK_init || callback_id == CALLBACK_init_post_opt))
        rc = line->mode == FAILURE_JOB ? ESPANK_JOB_FAILURE : ESPANK_NODE_FAILURE;
    if (rc && callback_id == CALLBACK_init)
        slurm_spank_init_failure_mode = rc;
    return rc;
}
#else
static int by_mode(const struct line *line, enum callback callback_id, unsigned context, int rc)
{
    if (line->mode != FAILURE_UNSET && callback_id == CALLBACK_init && context == S_CTX_SLURMD)
        slurm_info("slurmhooks: init_failure_mode is ignored: it takes Slurm 25.05 or later");
    return rc;
}
#endif

/* An option that the user gave before Python started; Python gets it later. */
struct given_option {
    int value;
    enum slurmhooks_origin origin;
    char *argument;
    struct given_option *next;
};

static struct given_option *waiting_options;
/* For the list only: scrun processes options in one thread while another one calls init_post_opt. */
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;

/* RET for Python: the address of the manifest that has the line, or 0. */
static intptr_t manifest_of(const struct line *line)
{
    return line->manifest ? (intptr_t)line->manifest->text : 0;
}

/* Let Python take an option. RET 0, or a failure code for Slurm. */
static int ask_option(const struct given_option *option)
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.spank", "option", NULL};
    struct slurmhooks_outcome outcome;
    int index;
    const struct line *line = line_of_option(option->value, &index);

    if (!line)
        return FAILED;
    /*
     * Passed by name, since the hook files that Python reads may be newer than the manifest that this process has read.
     */
    int registered = line->manifest && index < line->manifest->option_count;
    const char *name = registered ? line->manifest->options[index].name : NULL;
    if (STUB_CALL(&entry, &outcome, line->argc, (intptr_t)line->argv, manifest_of(line), index, (intptr_t)name,
                  (intptr_t)option->argument, option->origin))
        return FAILED;
    free(outcome.message);
    return outcome.rc;
}

/* RET the first of waiting_options, which now belongs to the caller, or NULL. */
static struct given_option *first_waiting(void)
{
    pthread_mutex_lock(&waiting_lock);
    struct given_option *option = waiting_options;
    if (option)
        waiting_options = option->next;
    pthread_mutex_unlock(&waiting_lock);
    return option;
}

/* Let Python take all options in waiting_options. RET the first failure code, or 0. */
static int tell_waiting(void)
{
    struct given_option *option;
    int rc = 0;

    while ((option = first_waiting())) {
        int failed = ask_option(option);
        free(option->argument);
        free(option);
        if (!rc)
            rc = failed;
    }
    return rc;
}

/* Keep an option until Python starts. RET 0, or a failure code for Slurm. */
static int keep(int value, const char *argument, enum slurmhooks_origin origin)
{
    struct given_option *option = calloc(1, sizeof(*option)), **last;

    if (!option || (argument && !(option->argument = strdup(argument)))) {
        free(option);
        return FAILED;
    }
    option->value = value;
    option->origin = origin;
    pthread_mutex_lock(&waiting_lock);
    last = &waiting_options;
    while (*last)
        last = &(*last)->next;
    *last = option;
    pthread_mutex_unlock(&waiting_lock);
    return 0;
}

/*
 * RET whether Slurm took an argument from a variable of this process: then it points to the value of the variable.
 * Otherwise it points to the command line, or to a copy of a line of the batch script.
 */
static int is_variable(const char *argument)
{
    uintptr_t address = (uintptr_t)argument;

    for (char **entry = environ; argument && entry && *entry; entry++)
        if (address > (uintptr_t)*entry && address <= (uintptr_t)*entry + strlen(*entry))
            return 1;
    return 0;
}

/*
 * Slurm calls this function when the user gives an option, and again in slurmstepd, with `remote` set. RET 0, or a
 * failure code.
 */
static int option_callback(int value, const char *argument, int remote)
{
    LEAVES_ERRNO(errno);
    int index;
    struct line *line = line_of_option(value, &index);

    if (!line || keep(value, argument, remote ? FROM_remote : is_variable(argument) ? FROM_variable : FROM_local))
        return FAILED;
    /* The manifest lacks options that a Lua script registers at run time, but then Python is already running. */
    int in_manifest = line->manifest && index < line->manifest->option_count;
    int checked = in_manifest && line->manifest->options[index].checked;
    /* slurmstepd only logs a failure here. Python checks the value later, and fails task_init_privileged. */
    line->to_check |= checked;
    if (in_manifest && (remote || !checked))
        return 0;
    return tell_waiting();
}

/* Tell Python which step slurmstepd runs: the step is cancelled if a handler ends the process. */
static void tell_step(spank_t spank)
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.spank", "step", NULL};
    static int told;
    struct slurmhooks_outcome outcome;
    uint32_t job, step;

    if (told || spank_context() != S_CTX_REMOTE || spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
        return;
    told = 1;
    STUB_CALL(&entry, &outcome, job, step);
}

/*
 * Let Python run the handlers of a callback.
 *
 * IN missing  the names of callbacks that this variant does not export, or NULL
 * RET the return code for Slurm
 */
static int ask_callback(const struct line *line, enum callback callback_id, spank_t spank, const char *missing)
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.spank", "callback", NULL};
    struct slurmhooks_outcome outcome;

    tell_step(spank);
    /* Python keeps a failure of an option for a later callback. In srun a failure has already ended the command. */
    tell_waiting();
    if (STUB_CALL(&entry, &outcome, callback_id, (intptr_t)spank, spank_context(), line->argc, (intptr_t)line->argv,
                  manifest_of(line), (intptr_t)option_callback, option_value(line, 0), (intptr_t)missing,
                  line->components))
        return FAILED;
    missing_known_list(outcome.message);
    free(outcome.message);
    return outcome.rc;
}

/* Register the options that the manifest has for this context. RET 0, or a failure code for Slurm. */
static int register_options(const struct line *line, spank_t spank, unsigned context)
{
    for (int i = 0; i < line->manifest->option_count; i++) {
        const struct manifest_option *option = &line->manifest->options[i];
        struct spank_option spank_option = {
            .name = option->name,
            .arginfo = option->arginfo,
            .usage = option->usage,
            .has_arg = option->has_arg,
            .val = option_value(line, i),
            .cb = option_callback,
        };
        missing_known(option->name);
        if (!(option->contexts & BIT(context)))
            continue;
        if (spank_option_register(spank, &spank_option) != ESPANK_SUCCESS) {
            slurm_error("slurmhooks: cannot register the option --%s: another plugin may have it", option->name);
            return FAILED;
        }
    }
    return 0;
}

/* RET whether this variant exports a callback: otherwise its handlers would never run. */
static int exported(enum callback callback_id)
{
#define SYMBOL(name) "slurm_spank_" #name,
    static const char *const symbols[] = {SLURMHOOKS_CALLBACKS(SYMBOL)};
    Dl_info info;
    void *plugin = dladdr((void *)exported, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    int result = plugin && dlsym(plugin, symbols[callback_id]);

    if (plugin)
        dlclose(plugin);
    return result;
}

/* RET the names of the callbacks that are not exported, each followed by a blank. */
static const char *missing_callbacks(void)
{
#define NAME(name) #name " ",
    static const char *const names[] = {SLURMHOOKS_CALLBACKS(NAME)};
    static char missing[256];

    missing[0] = '\0';
    for (int i = 0; i < CALLBACK_COUNT; i++)
        if (!exported(i))
            strcat(missing, names[i]);
    return missing;
}

/* RET whether this variant exports each callback that has a handler. */
static int fits(const struct manifest_line *manifest)
{
#define OR_BIT(name) | BIT(CALLBACK_##name)
    /* Every variant exports the other callbacks, so launches need not look them up. */
    static const unsigned not_in_all_variants = 0 SLURMHOOKS_COSTLY_CALLBACKS(OR_BIT);

    for (int i = 0; i < CALLBACK_COUNT; i++)
        if (manifest->calls[i] && not_in_all_variants & BIT(i) && !exported(i))
            return 0;
    return 1;
}

/*
 * RET whether tasks will need Python. If so, it must start before slurmstepd forks the tasks; otherwise each task would
 * start its own.
 */
static int tasks_need_python(const struct line *line, spank_t spank)
{
#define OR_CALLS(name) | line->manifest->calls[CALLBACK_##name]
    unsigned tasks = 0 SLURMHOOKS_TASK_CALLBACKS(OR_CALLS);
    uint32_t step = 0;

    if (!line->to_check && !(tasks & BIT(S_CTX_REMOTE)))
        return 0;
    /* An extern step has no tasks. */
    return spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step != SLURM_EXTERN_CONT;
}

/* Log why the manifest is not used. */
static void log_no_manifest(const char *why, unsigned context)
{
    static const char text[] =
        "slurmhooks: no hook manifest (%s): Python starts in every process; run 'slurmhooks deploy'";

    /* In these contexts the log is the user's terminal. */
    if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR)
        slurm_debug(text, why);
    else
        slurm_info(text, why);
}

/*
 * Do what a callback needs: register options, start Python, run handlers.
 *
 * IN why  at the first call for a line: why the manifest does not have it; else NULL
 * RET a code for Slurm, to which by_mode() must still be applied
 */
static int answer(struct line *line, enum callback callback_id, spank_t spank, const char *why)
{
    unsigned context = spank_context();

    if (callback_id == CALLBACK_init && line->manifest && !fits(line->manifest)) {
        line->manifest = NULL;
        why = "it is for another variant of this plugin";
    }
    if (why)
        log_no_manifest(why, context);
    line->components += context == S_CTX_LOCAL && callback_id == CALLBACK_init_post_opt;
    if (context == S_CTX_REMOTE && callback_id == CALLBACK_init)
        missing_note(spank);
    if (context == S_CTX_REMOTE && callback_id == CALLBACK_init_post_opt)
        missing_log();
    if (callback_id == CALLBACK_task_init_privileged && line->refuse_missing && missing_refuse())
        return FAILED;
    if (!line->manifest)
        return ask_callback(line, callback_id, spank, callback_id == CALLBACK_init ? missing_callbacks() : NULL);
    if (callback_id == CALLBACK_init &&
        (context == S_CTX_LOCAL || context == S_CTX_REMOTE || context == S_CTX_ALLOCATOR) &&
        register_options(line, spank, context))
        return FAILED;
    if (line->manifest->calls[callback_id] & BIT(context) ||
        (callback_id == CALLBACK_task_init_privileged && line->to_check) ||
        (callback_id == CALLBACK_init_post_opt &&
         (line->to_check || (context == S_CTX_REMOTE && tasks_need_python(line, spank)))))
        return ask_callback(line, callback_id, spank, NULL);
    return 0;
}

/* Answer a callback of Slurm. RET the return code for Slurm. */
static int callback(enum callback callback_id, spank_t spank, int argc, char *argv[])
{
    const char *why;
    struct line *line = line_of(argc, argv, &why);

    if (!line) {
        slurm_error("slurmhooks: plugstack.conf names this plugin on more than %d lines, or memory is short",
                    MOST_LINES);
        return FAILED;
    }
    unsigned context = spank_context();
    int jobs_mask = context == S_CTX_REMOTE ? mask_begin(callback_id) : -1;
    int rc = answer(line, callback_id, spank, why);
    mask_end(jobs_mask);
    return by_mode(line, callback_id, context, rc);
}

/* Define the function slurm_spank_NAME() of each callback. */
#define DEFINE(name)                                              \
    int slurm_spank_##name(spank_t spank, int argc, char *argv[]) \
    {                                                             \
        LEAVES_ERRNO(errno);                                      \
        return callback(CALLBACK_##name, spank, argc, argv);      \
    }

SLURMHOOKS_CALLBACKS(DEFINE)
