/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the functions of cli_filter, prep and site_factor plugins, whatever they do; job records are private to Slurm.
 */
#include <slurm/slurm.h>

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "command.h"
#include "memory.h"
#include "output.h"
#include "plugin.h"

struct prep_callbacks {
    void (*prolog)(int rc, uint32_t job_id, bool timed_out);
    void (*epilog)(int rc, uint32_t job_id, bool timed_out);
};

/* slurm_opt.c: the command has no options. */
extern struct option *slurm_option_table_create(void *options, char **letters);
struct option *slurm_option_table_create(void *options, char **letters)
{
    static struct option none;

    (void)options;
    *letters = slurm_xstrdup("");
    errno = ENOENT;
    return &none;
}

extern void slurm_option_table_destroy(struct option *table);
void slurm_option_table_destroy(struct option *table)
{
    (void)table;
}

/* job_mgr.c: variables of a job, for prep. */
extern char **job_common_env_vars(void *job_record, bool is_complete);
char **job_common_env_vars(void *job_record, bool is_complete)
{
    char **variables = slurm_xcalloc(2, sizeof(*variables), true, false, __FILE__, __LINE__, __func__);

    (void)job_record, (void)is_complete;
    variables[0] = slurm_xstrdup("SLURM_JOB_ID=17");
    return variables;
}

/* How many events prep has finished. */
static int finished;

static void finish(int rc, uint32_t job_id, bool timed_out)
{
    (void)rc, (void)job_id, (void)timed_out;
    plugin_leave("a thread of prep", 0);
    __atomic_add_fetch(&finished, 1, __ATOMIC_SEQ_CST);
}

enum arguments { NONE, RECORD, OPTIONS, SUBMITTED, CALLBACKS, NODE, EVENT, QUESTION };

static const struct function {
    const char *name;
    enum arguments arguments;
} functions[] = {
    {"cli_filter_p_setup_defaults", OPTIONS},
    {"cli_filter_p_pre_submit", OPTIONS},
    {"cli_filter_p_post_submit", SUBMITTED},
    {"prep_p_register_callbacks", CALLBACKS},
    {"prep_p_prolog", NODE},
    {"prep_p_epilog", NODE},
    {"prep_p_prolog_slurmctld", EVENT},
    {"prep_p_epilog_slurmctld", EVENT},
    {"prep_p_required", QUESTION},
    {"slurmhooks_start_workers", NONE},
    {"site_factor_p_reconfig", NONE},
    {"site_factor_p_set", RECORD},
    {"site_factor_p_update", NONE},
};

/* RET the result of a function that has one, otherwise 0 */
static int call(void *symbol, enum arguments arguments, bool *is_async)
{
    static const struct prep_callbacks callbacks = {finish, finish};
    uint64_t record[64] = {0}, options[64] = {0};

    switch (arguments) {
    case NONE: ((void (*)(void))symbol)(); break;
    case RECORD: ((void (*)(void *))symbol)(record); break;
    case OPTIONS: return ((int (*)(void *, int))symbol)(options, 0);
    case SUBMITTED: ((void (*)(int, uint32_t, uint32_t))symbol)(0, 17, NO_VAL); break;
    case CALLBACKS: ((void (*)(const struct prep_callbacks *))symbol)(&callbacks); break;
    case NODE: return ((int (*)(void *, void *))symbol)(NULL, NULL);
    case EVENT: return ((int (*)(void *, bool *))symbol)(record, is_async);
    case QUESTION: ((void (*)(int, bool *))symbol)(0, is_async); break;
    }
    return 0;
}

void command_enter(const struct line *line)
{
    const struct function *function = functions;
    const struct function *end = functions + sizeof(functions) / sizeof(functions[0]);
    void *symbol = plugin_function(plugin_of(line), line->words[2]);
    int before = __atomic_load_n(&finished, __ATOMIC_SEQ_CST);
    bool is_async = false;

    while (function < end && strcmp(function->name, line->words[2]))
        function++;
    if (function == end || !symbol)
        script_wrong(line, "no such function");
    plugin_enter();
    int rc = call(symbol, function->arguments, &is_async);
    plugin_leave(function->name, PLUGIN_ERRNO);
    for (int waited = 0;
         function->arguments == EVENT && is_async && __atomic_load_n(&finished, __ATOMIC_SEQ_CST) == before; waited++)
        wait_a_little(line, waited);
    FILE *result = output_begin("enter");
    output_text(result, "function", function->name);
    output_number(result, "rc", rc);
    output_end(result);
}
