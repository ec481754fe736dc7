/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does in each callback what /opt/spank/plan says, and records the results; plans.py does the same in Python. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SPANK_PLUGIN(python, 1)

#define OPTIONS 8
#define WORDS 5
#define LONGEST 4096

static char line[1 << 18];
static size_t used;
static struct spank_option options[OPTIONS];
static char *values[OPTIONS];
static int option_count;

static void add(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    used += (size_t)vsnprintf(line + used, sizeof(line) - used, format, arguments);
    va_end(arguments);
}

/* Texts are written in hexadecimal digits, the empty one as "-". */
static void add_text(const char *text)
{
    add("%s", *text ? "" : "-");
    for (; *text; text++)
        add("%02x", (unsigned char)*text);
}

static char *text_of(const char *digits)
{
    size_t length = strlen(digits) / 2;
    char *text = calloc(1, length + 1);

    for (size_t i = 0; i < length; i++) {
        unsigned byte;
        sscanf(digits + 2 * i, "%2x", &byte);
        text[i] = (char)byte;
    }
    return text;
}

static int take(int value, const char *argument, int remote)
{
    free(values[value]);
    values[value] = strdup(argument ? argument : "");
    return 0;
}

static void add_option(spank_t spank, char *words[])
{
    int kind = atoi(words[2]);
    struct spank_option *option = &options[option_count];

    *option = (struct spank_option){
        .name = text_of(words[1]),
        .arginfo = kind ? "ARG" : NULL,
        .usage = "for a test",
        .has_arg = kind,
        .val = option_count++,
        .cb = take,
    };
    if (spank_context() != S_CTX_JOB_SCRIPT)
        spank_option_register(spank, option);
    else if (spank_option_getopt(spank, option, &values[option->val]) == ESPANK_SUCCESS && !values[option->val])
        values[option->val] = "";
}

static void add_variable(spank_err_t code, const char *value)
{
    if (code == ESPANK_ENV_NOEXIST || !value)
        add("none");
    else if (code != ESPANK_SUCCESS)
        add("error");
    else
        add_text(value);
}

static void act(spank_t spank, const char *op, const char *name, const char *value)
{
    static char buffer[1 << 17];
    int remote = spank_context() == S_CTX_REMOTE, script = spank_context() == S_CTX_JOB_SCRIPT;
    int overwrite = strcmp(op, "put") != 0;
    char prefixed[LONGEST];
    spank_err_t code = ESPANK_SUCCESS;

    add(" %s=", op);
    snprintf(prefixed, sizeof(prefixed), "SPANK_%s", name);
    if (!strcmp(op, "get"))
        return remote ? add_variable(spank_getenv(spank, name, buffer, sizeof(buffer)), buffer)
                      : add_variable(ESPANK_SUCCESS, getenv(name));
    if (!strcmp(op, "control_get"))
        return script ? add_variable(ESPANK_SUCCESS, getenv(prefixed))
                      : add_variable(spank_job_control_getenv(spank, name, buffer, sizeof(buffer)), buffer);
    if (!strcmp(op, "set") || !strcmp(op, "put"))
        code = remote ? spank_setenv(spank, name, value, overwrite) : (spank_err_t)setenv(name, value, overwrite);
    else if (!strcmp(op, "del"))
        code = remote ? spank_unsetenv(spank, name) : (spank_err_t)unsetenv(name);
    else if (!strcmp(op, "control_set"))
        code = spank_job_control_setenv(spank, name, value, 1);
    else if (!strcmp(op, "control_del"))
        code = spank_job_control_unsetenv(spank, name);
    else if (!strcmp(op, "options"))
        for (int i = 0; i < option_count; i++)
            add_variable(ESPANK_SUCCESS, values[i]), add(",");
    add("%s", code == ESPANK_SUCCESS || code == ESPANK_ENV_EXISTS ? "ok" : "error");
}

/* Do what the plan has for a callback. RET the code for Slurm. */
static int run(const char *callback, spank_t spank)
{
    static const char *const contexts[] = {"error", "local", "remote", "allocator", "slurmd", "job_script"};
    const char *context = contexts[spank_context()];
    int starts = !strcmp(callback, "init") || spank_context() == S_CTX_JOB_SCRIPT;
    uint32_t step = 0, node = 0, task = 0;
    char row[LONGEST];
    int rc = 0;
    FILE *plan = fopen("/opt/spank/plan", "r");

    spank_get_item(spank, S_JOB_STEPID, &step);
    spank_get_item(spank, S_JOB_NODEID, &node);
    spank_get_item(spank, S_TASK_GLOBAL_ID, &task);
    used = 0;
    add("%s %s %u %u %u:", callback, context, spank_context() == S_CTX_REMOTE ? step : 0, node, task);
    while (plan && fgets(row, sizeof(row), plan)) {
        char *words[WORDS] = {NULL}, *rest = NULL;
        int count = 0;
        for (char *word = strtok_r(row, " \n", &rest); word && count < WORDS; word = strtok_r(NULL, " \n", &rest))
            words[count++] = word;
        if (!strcmp(words[0], "option") && starts && spank_context() != S_CTX_SLURMD)
            add_option(spank, words);
        if (strcmp(words[0], callback) || strcmp(words[1], context))
            continue;
        if (!strcmp(words[2], "fail"))
            rc = SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0) && !words[3] ? -ESPANK_ERROR : ESPANK_ERROR;
        else
            act(spank, words[2], text_of(words[3]), text_of(words[4]));
    }
    if (plan)
        fclose(plan);
    line[used++] = '\n';
    int records = open("/opt/spank/records", O_WRONLY | O_APPEND);
    if (records < 0 || write(records, line, used) < 0)
        slurm_error("cannot record");
    close(records);
    return rc;
}

#define DEFINE(name)                                              \
    int slurm_spank_##name(spank_t spank, int argc, char *argv[]) \
    {                                                             \
        return run(#name, spank);                                 \
    }

DEFINE(init)
DEFINE(job_prolog)
DEFINE(init_post_opt)
DEFINE(local_user_init)
DEFINE(user_init)
DEFINE(task_init_privileged)
DEFINE(task_init)
DEFINE(task_post_fork)
DEFINE(task_exit)
DEFINE(exit)
DEFINE(job_epilog)
