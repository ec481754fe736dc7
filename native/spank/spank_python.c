/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SPANK plugin of plugstack.conf: Slurm's calls, handed to slurmhooks.spank.entry where a handler waits for them.
 *
 * This file is compiled once and linked four times: the callbacks that a variant exports decide what Slurm does
 * for it (a process for each prolog and epilog, a clone for each task); see meson.build.
 */
#include <slurm/slurm.h>
#include <slurm/spank.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spank/lines.h"
#include "stub/stub.h"

/* This name is part of what users may type: _SLURM_SPANK_OPTION_python_<option>. */
SPANK_PLUGIN(python, 1)

/* What Slurm gets when Python has no answer. Negative: before 25.05 slurmstepd takes only negative
 * codes for failures. */
#define FAILED (-ESPANK_ERROR)
#define BIT(context) (1u << (context))

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
/* Slurm reads it when init() has failed, in place of what init() returned. */
int slurm_spank_init_failure_mode = ESPANK_NODE_FAILURE;

/*
 * What a failure to start comes to: what the handler named as its code, what the site has chosen, or the answer itself.
 * In init_post_opt, too, where Slurm does not look at the variable: with a manifest Python is not started before.
 */
static int by_mode(const struct line *line, enum callback which, unsigned context, int rc)
{
    int named = rc == ESPANK_NODE_FAILURE || rc == ESPANK_JOB_FAILURE;

    if (rc && !named && line->mode != FAILURE_UNSET && context == S_CTX_REMOTE &&
        (which == CALLBACK_init || which == CALLBACK_init_post_opt))
        rc = line->mode == FAILURE_JOB ? ESPANK_JOB_FAILURE : ESPANK_NODE_FAILURE;
    if (rc && which == CALLBACK_init)
        slurm_spank_init_failure_mode = rc;
    return rc;
}
#else
static int by_mode(const struct line *line, enum callback which, unsigned context, int rc)
{
    if (line->mode != FAILURE_UNSET && which == CALLBACK_init && context == S_CTX_SLURMD)
        slurm_info("slurmhooks: init_failure_mode is ignored: it takes Slurm 25.05 or later");
    return rc;
}
#endif

/* Options that the user gave and that Python has not seen yet, because it has not started. */
struct given {
    int value;
    int remote;
    char *argument;
    struct given *next;
};

static struct given *waiting;

static int ask_option(const struct given *given)
{
    static struct slurmhooks_entry entry = {"slurmhooks.spank.entry", "option", NULL};
    struct slurmhooks_answer answer;
    int index;
    const struct line *line = line_of_option(given->value, &index);

    if (!line)
        return FAILED;
    /* By name: the manifest that this process has read may have been replaced before Python reads hook files. */
    int registered = line->manifest && index < line->manifest->option_count;
    const char *name = registered ? line->manifest->options[index].name : NULL;
    if (STUB_CALL(&entry, &answer, line->argc, (intptr_t)line->argv, line->manifest != NULL, index, (intptr_t)name,
                  (intptr_t)given->argument, given->remote))
        return FAILED;
    free(answer.message);
    return answer.rc;
}

/* Tell Python of the options that were given before it started. RET the first failure, or 0. */
static int tell_waiting(void)
{
    int rc = 0;

    while (waiting) {
        struct given *first = waiting;
        int failed = ask_option(first);
        waiting = first->next;
        free(first->argument);
        free(first);
        if (!rc)
            rc = failed;
    }
    return rc;
}

static int keep(int value, const char *argument, int remote)
{
    struct given *given = calloc(1, sizeof(*given)), **last = &waiting;

    if (!given || (argument && !(given->argument = strdup(argument)))) {
        free(given);
        return FAILED;
    }
    given->value = value;
    given->remote = remote;
    while (*last)
        last = &(*last)->next;
    *last = given;
    return 0;
}

static int option_callback(int value, const char *argument, int remote)
{
    int index;
    struct line *line = line_of_option(value, &index);

    if (!line || keep(value, argument, remote))
        return FAILED;
    /* The manifest does not know what a Lua script registers while it runs; Python does, and runs already. */
    int known = line->manifest && index < line->manifest->option_count;
    int checked = known && line->manifest->options[index].checked;
    /* In slurmstepd Slurm only logs our answer; Python checks when it starts, and fails task_init_privileged. */
    line->to_check |= checked && remote;
    if (known && (remote || !checked))
        return 0;
    return tell_waiting();
}

static int ask_callback(const struct line *line, enum callback which, spank_t spank, const char *missing)
{
    static struct slurmhooks_entry entry = {"slurmhooks.spank.entry", "callback", NULL};
    struct slurmhooks_answer answer;

    /* A remote failure among these is carried by Python, a local one has ended the command already. */
    tell_waiting();
    if (STUB_CALL(&entry, &answer, which, (intptr_t)spank, spank_context(), line->argc, (intptr_t)line->argv,
                  line->manifest != NULL, (intptr_t)option_callback, option_value(line, 0), (intptr_t)missing))
        return FAILED;
    free(answer.message);
    return answer.rc;
}

static int register_options(const struct line *line, spank_t spank, unsigned context)
{
    for (int i = 0; i < line->manifest->option_count; i++) {
        const struct manifest_option *option = &line->manifest->options[i];
        struct spank_option made = {
            .name = option->name,
            .arginfo = option->arginfo,
            .usage = option->usage,
            .has_arg = option->has_arg,
            .val = option_value(line, i),
            .cb = option_callback,
        };
        if (!(option->contexts & BIT(context)))
            continue;
        if (spank_option_register(spank, &made) != ESPANK_SUCCESS) {
            slurm_error("slurmhooks: cannot register the option --%s", option->name);
            return FAILED;
        }
    }
    return 0;
}

/* Whether this variant exports a callback; a handler for one that it does not would never run. */
static int exported(enum callback which)
{
#define SYMBOL(name) "slurm_spank_" #name,
    static const char *const symbols[] = {SLURMHOOKS_CALLBACKS(SYMBOL)};
    Dl_info info;
    void *self = dladdr((void *)exported, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    int found = self && dlsym(self, symbols[which]);

    if (self)
        dlclose(self);
    return found;
}

/* The names of the callbacks that are not exported, a blank behind each. */
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

static int fits(const struct manifest_line *manifest)
{
    /* All variants have the others (meson.build): to look them up would cost each launch something. */
    static const unsigned optional = BIT(CALLBACK_job_prolog) | BIT(CALLBACK_job_epilog) | BIT(CALLBACK_user_init) |
                                     BIT(CALLBACK_task_post_fork) | BIT(CALLBACK_task_exit);

    for (int i = 0; i < CALLBACK_COUNT; i++)
        if (manifest->calls[i] && optional & BIT(i) && !exported(i))
            return 0;
    return 1;
}

/* Whether tasks will need Python: it is started before they are forked, or each would start its own. */
static int tasks_need_python(const struct line *line, spank_t spank)
{
    const unsigned *calls = line->manifest->calls;
    unsigned tasks = calls[CALLBACK_user_init] | calls[CALLBACK_task_init_privileged] | calls[CALLBACK_task_init] |
                     calls[CALLBACK_task_post_fork] | calls[CALLBACK_task_exit];
    uint32_t step = 0;

    if (!line->to_check && !(tasks & BIT(S_CTX_REMOTE)))
        return 0;
    /* An extern step starts no tasks. */
    return spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step != SLURM_EXTERN_CONT;
}

static void say_why(const char *why, unsigned context)
{
    static const char text[] =
        "slurmhooks: no hook manifest (%s): Python starts in every process; run 'slurmhooks compile'";

    /* Users' terminals get it only when they ask for much. */
    if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR)
        slurm_debug(text, why);
    else
        slurm_info(text, why);
}

static int answer(struct line *line, enum callback which, spank_t spank, const char *why)
{
    unsigned context = spank_context();

    if (which == CALLBACK_init && line->manifest && !fits(line->manifest)) {
        line->manifest = NULL;
        why = "it is for another variant of this plugin";
    }
    if (why)
        say_why(why, context);
    if (!line->manifest)
        return ask_callback(line, which, spank, which == CALLBACK_init ? missing_callbacks() : NULL);
    if (which == CALLBACK_init && (context == S_CTX_LOCAL || context == S_CTX_REMOTE || context == S_CTX_ALLOCATOR) &&
        register_options(line, spank, context))
        return FAILED;
    if (line->manifest->calls[which] & BIT(context) || (which == CALLBACK_task_init_privileged && line->to_check) ||
        (which == CALLBACK_init_post_opt && context == S_CTX_REMOTE && tasks_need_python(line, spank)))
        return ask_callback(line, which, spank, NULL);
    return 0;
}

static int callback(enum callback which, spank_t spank, int argc, char *argv[])
{
    const char *why;
    struct line *line = line_of(argc, argv, &why);

    if (!line) {
        slurm_error("slurmhooks: more than %d lines of plugstack.conf name this plugin, or memory is short",
                    MOST_LINES);
        return FAILED;
    }
    return by_mode(line, which, spank_context(), answer(line, which, spank, why));
}

/* One function a documented callback. */
#define DEFINE(name)                                              \
    int slurm_spank_##name(spank_t spank, int argc, char *argv[]) \
    {                                                             \
        return callback(CALLBACK_##name, spank, argc, argv);      \
    }

SLURMHOOKS_CALLBACKS(DEFINE)
