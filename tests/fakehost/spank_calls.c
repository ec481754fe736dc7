/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands for SPANK: the context, the job, callbacks and options. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"
#include "spank_handle.h"

/* By Slurm's numbers. */
static const char *const context_names[] = {"error", "local", "remote", "allocator", "slurmd", "job_script"};

static spank_context_t context = S_CTX_ERROR;

struct fake_job fake_job = {
    .id = 4711,
    .tasks = {{.id = 0, .global_id = 2, .pid = 1000}, {.id = 1, .global_id = 3, .pid = 1001}},
};

bool fake_phase(const struct spank_handle *spank, ...)
{
    va_list names;
    const char *name;
    bool in_phase = false;

    va_start(names, spank);
    while (!in_phase && (name = va_arg(names, const char *)))
        in_phase = !strcmp(spank->phase, name);
    va_end(names);
    return in_phase;
}

spank_context_t spank_context(void)
{
    return context;
}

int spank_remote(spank_t spank)
{
    return spank && spank->context == S_CTX_REMOTE;
}

int spank_symbol_supported(const char *symbol)
{
    return !strncmp(symbol, "slurm_spank_", strlen("slurm_spank_"));
}

const char *spank_strerror(spank_err_t code)
{
    return code == ESPANK_BAD_ARG ? "Bad argument" : "Some error of SPANK";
}

void command_context(const struct line *line)
{
    for (size_t i = 0; i < sizeof(context_names) / sizeof(context_names[0]); i++) {
        if (!strcmp(context_names[i], line->words[1])) {
            context = (spank_context_t)i;
            return;
        }
    }
    script_wrong(line, "no such context");
}

void command_job(const struct line *line)
{
    const char *id = line_value(line, "id");

    if (id)
        fake_job.id = (uint32_t)strtoul(id, NULL, 0);
    for (int i = 1; i < line->count; i++) {
        if (!strncmp(line->words[i], "argv=", strlen("argv=")))
            strings_add(&fake_job.argv, line->words[i] + strlen("argv="));
        if (!strncmp(line->words[i], "env=", strlen("env=")))
            strings_add(&fake_job.env, line->words[i] + strlen("env="));
        if (!strncmp(line->words[i], "refuse=", strlen("refuse=")))
            strings_set(&fake_job.refused, line->words[i] + strlen("refuse="), "");
    }
}

/* RET the task of a callback; NULL if it has none, or with task=-1, as in an extern step. */
static struct fake_task *task_of(const struct line *line)
{
    const char *number = line_value(line, "task"), *status = line_value(line, "exit_status");
    int index = number ? atoi(number) : 0;

    if (strncmp(line->words[2], "task_", strlen("task_")) || index < 0)
        return NULL;
    if (index >= FAKE_LOCAL_TASKS)
        script_wrong(line, "no such task");
    struct fake_task *task = &fake_job.tasks[index];
    task->exited = !strcmp(line->words[2], "task_exit");
    task->exit_status = status ? (int)strtol(status, NULL, 0) : 0;
    return task;
}

/* _do_call_stack(), for one plugin. */
void command_call(const struct line *line)
{
    const struct plugin *plugin = plugin_of(line);
    const char *phase = line->words[2];
    char symbol[64] = "slurm_spank_";
    struct spank_handle spank = {
        .magic = FAKE_MAGIC,
        .plugin = plugin,
        .phase = phase,
        .context = context,
        .has_job = context == S_CTX_REMOTE || context == S_CTX_JOB_SCRIPT || !strcmp(phase, "local_user_init"),
        .task = task_of(line),
    };
    int (*function)(spank_t, int, char **);

    strncat(symbol, phase, sizeof(symbol) - strlen(symbol) - 1);
    function = (int (*)(spank_t, int, char **))plugin_function(plugin, symbol);
    if (!function)
        script_wrong(line, "the plugin has no such callback");
    plugin_enter();
    int rc = function(&spank, plugin->argc, plugin->argv);
    plugin_leave(symbol, PLUGIN_ERRNO);
    spank.magic = 0;
    FILE *result = output_begin("call");
    output_text(result, "callback", phase);
    output_rc(result, rc);
    output_end(result);
}

/* Called when the user gives an option on the command line or in the environment. */
void command_option(const struct line *line)
{
    struct fake_option *option = fake_option(plugin_of(line), line->words[2]);
    char *argument = line->count > 3 ? line->words[3] : NULL;

    if (!option)
        script_wrong(line, "no such option is registered");
    option->given = true;
    option->argument = argument;
    bool remote = context == S_CTX_REMOTE;
    plugin_enter();
    int rc = option->option.cb(option->option.val, argument, remote);
    plugin_leave("the callback of an option", PLUGIN_ERRNO);
    FILE *result = output_begin("option");
    output_text(result, "name", line->words[2]);
    output_rc(result, rc);
    output_end(result);
}

void command_show(const struct line *line)
{
    const struct fake_option *option;
    FILE *result = output_begin("show");

    (void)line;
    for (int i = 0; i < fake_job.argv.count; i++)
        output_text(result, "argv", fake_job.argv.items[i]);
    for (int i = 0; i < fake_job.env.count; i++)
        output_text(result, "env", fake_job.env.items[i]);
    for (int i = 0; i < fake_job.control_env.count; i++)
        output_text(result, "control_env", fake_job.control_env.items[i]);
    for (int i = 0; (option = fake_option_number(i)); i++) {
        output_text(result, "option", option->option.name);
        output_text(result, "arginfo", option->option.arginfo);
        output_text(result, "usage", option->option.usage);
        output_number(result, "has_arg", option->option.has_arg);
    }
    output_end(result);
}
