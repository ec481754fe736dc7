/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmctld's calls of a jobcomp plugin. */
#include <slurm/slurm.h>
#include <slurm/slurm_version.h>

#include <stdint.h>
#include <string.h>

#include "command.h"
#include "memory.h"
#include "output.h"
#include "plugin.h"

/* The members of slurm.conf that plugins read. */
slurm_conf_t slurm_conf;
/* This variable tells a plugin that slurmctld has opened it, and not sacct. */
int slurmctld_config;

void command_conf(const struct line *line)
{
    const struct {
        const char *name;
        char **member;
    } members[] = {
        {"state_save_location", &slurm_conf.state_save_location},
        {"plugindir", &slurm_conf.plugindir},
        {"job_submit_plugins", &slurm_conf.job_submit_plugins},
        {"prep_plugins", &slurm_conf.prep_plugins},
        {"job_comp_type", &slurm_conf.job_comp_type},
    };
    char **member = NULL;

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (!strcmp(line->words[1], members[i].name))
            member = members[i].member;
    if (!member)
        script_wrong(line, "no such member of slurm_conf");
    slurm_xfree((void **)member);
    *member = slurm_xstrdup(line->words[2]);
}

static void record(const struct line *line, const char *name, uint32_t event)
{
    int (*function)(void *, uint32_t) = (int (*)(void *, uint32_t))plugin_function(plugin_of(line), name);
    /* A record, whose layout is private to slurmctld: nothing here reads it. */
    uint64_t job[64] = {0};

    if (!function)
        script_wrong(line, "the plugin has no such function");
    plugin_enter();
    int rc = function(job, event);
    plugin_leave(name, PLUGIN_ERRNO);
    FILE *result = output_begin(line->words[0]);
    output_rc(result, rc);
    output_end(result);
}

void command_job_end(const struct line *line)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
    record(line, "jobcomp_p_record_job_end", 1);
#else
    record(line, "jobcomp_p_log_record", 0);
#endif
}

void command_job_start(const struct line *line)
{
    record(line, "jobcomp_p_record_job_start", 0);
}

void command_set_location(const struct line *line)
{
    int (*function)(void) = (int (*)(void))plugin_function(plugin_of(line), "jobcomp_p_set_location");
    plugin_enter();
    int rc = function();
    plugin_leave("jobcomp_p_set_location", PLUGIN_ERRNO);
    FILE *result = output_begin("set_location");

    output_rc(result, rc);
    output_end(result);
}

void command_get_jobs(const struct line *line)
{
    void *(*function)(void *) = (void *(*)(void *))plugin_function(plugin_of(line), "jobcomp_p_get_jobs");
    plugin_enter();
    void *jobs = function((void *)line);
    plugin_leave("jobcomp_p_get_jobs", PLUGIN_ERRNO);
    FILE *result = output_begin("get_jobs");

    output_number(result, "same", jobs == line);
    output_number(result, "null", jobs == NULL);
    output_end(result);
}
