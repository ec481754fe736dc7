/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin for JobCompType=jobcomp/python: puts records into the spool, from which workers deliver them. Runs no
 * Python itself.
 *
 * slurmctld calls it while holding its locks, so nothing here may wait for a worker. sacct -c also loads the plugin,
 * as its user, and calls only jobcomp_p_get_jobs().
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "jobcomp/delivery.h"
#include "jobcomp/next.h"
#include "jobcomp/settings.h"
#include "jobcomp/spool.h"
#include "log.h"
#include "slurmctld/point.h"
#include "wire/wire.h"

const char plugin_name[] = "Job completion Python plugin (slurmhooks)";
const char plugin_type[] = "jobcomp/python";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* Slurm's configuration in this process. */
extern slurm_conf_t slurm_conf;

static void begin_settings(void)
{
    slurmhooks_begin_settings(slurm_conf.state_save_location);
}

struct slurmhooks_point slurmhooks_point = {.name = "jobcomp", .prepare = begin_settings};
static struct slurmhooks_settings settings;
static struct slurmhooks_next next;
static struct slurmhooks_spool *spool;
static struct slurmhooks_delivery *delivery;

/* sacct does not have slurmctld's global variables. */
static bool in_slurmctld(void)
{
    return dlsym(RTLD_DEFAULT, "slurmctld_config") != NULL;
}

/* The positions of members in a packed record. A build with public headers has no table of records. */
static const struct slurmhooks_table *record_table(void)
{
    return slurmhooks_tables.count > TABLE_record ? &slurmhooks_tables.table[TABLE_record] : NULL;
}

static uint32_t job_id_of(const void *job)
{
    const struct slurmhooks_table *table = record_table();

    for (uint32_t i = 0; table && i < table->count; i++)
        if (!strcmp(table->members[i].name, "job_id"))
            return (uint32_t)slurmhooks_load(&table->members[i], job);
    return 0;
}

/* Pack a record with long texts, since workers cannot ask for them later; while the spool fills, only with their
 * beginnings. */
static void put_record(struct slurmhooks_buffer *message, const void *job)
{
    message->longest = slurmhooks_spool_is_filling(spool) ? SLURMHOOKS_SHORT : SLURMHOOKS_WHOLE;
    message->cuts = true;
    if (record_table())
        slurmhooks_put_struct(message, TABLE_record, job);
}

static void log_line(bool error, const char *line)
{
    if (error)
        log_error("%s", line);
    else
        slurm_info("slurmhooks: %s", line);
}

/* Open the spool, and start its delivery. */
static bool open_spool(void)
{
    const struct slurmhooks_spool_config config = {
        .folder = settings.spool,
        .limit = settings.limit,
        .fsync = settings.fsync,
        .identity = slurmhooks_tables.identity,
        .table = slurmhooks_tables_text,
        .log = log_line,
    };
    char why[512];

    if (!spool && !(spool = slurmhooks_spool_open(&config, why, sizeof(why)))) {
        log_error("the spool of [jobcomp] cannot be opened: %s", why);
        return false;
    }
    if (!delivery && slurmhooks_point.client &&
        !(delivery = slurmhooks_delivery_start(slurmhooks_point.client, spool, settings.spool)))
        log_error("no threads can be started: records of jobs are kept, but not delivered");
    return true;
}

static int keep(uint32_t hook, const void *job)
{
    struct slurmhooks_buffer message;
    uint32_t job_id = job_id_of(job);

    if (!open_spool()) {
        log_error("the record of JobId=%u is lost", job_id);
        return SLURM_ERROR;
    }
    slurmhooks_begin(&message, SLURMHOOKS_REQUEST);
    put_record(&message, job);
    if (!slurmhooks_end(&message, hook, 0, 0)) {
        log_error("the record of JobId=%u is lost: it is larger than a message can be, or memory is short", job_id);
        return SLURM_ERROR;
    }
    bool kept = slurmhooks_spool_append(spool, hook, job_id, message.data, message.size);
    free(message.data);
    if (kept && delivery)
        slurmhooks_delivery_ring(delivery, job_id);
    return kept ? SLURM_SUCCESS : SLURM_ERROR;
}

extern int fini(void)
{
    LEAVES_ERRNO(errno);
    if (delivery)
        slurmhooks_delivery_stop(delivery);
    delivery = NULL;
    slurmhooks_point_stop();
    if (spool)
        slurmhooks_spool_close(spool);
    spool = NULL;
    slurmhooks_next_close(&next);
    return SLURM_SUCCESS;
}

/*
 * slurmctld starts even if the spool, the delivery or the next plugin does not. But a slurmctld that 'scontrol
 * reconfigure' has started replaces the old one only if everything that is configured works.
 */
extern int init(void)
{
    LEAVES_ERRNO(errno);
    bool sound = slurmhooks_read_settings(&settings, slurm_conf.state_save_location);

    if (*settings.next && slurmhooks_next_open(&next, settings.next, slurm_conf.plugindir))
        sound = false;
    if (!in_slurmctld())
        return sound ? SLURM_SUCCESS : SLURM_ERROR;
    if (!sound && getenv("SLURMCTLD_RECONF")) {
        log_error("slurmctld is not reconfigured: [jobcomp] of slurmhooks.toml, or what it names, cannot be used");
        fini();
        return SLURM_ERROR;
    }
    if (slurmhooks_point_start()) {
        fini();
        return SLURM_ERROR;
    }
    open_spool();
    return SLURM_SUCCESS;
}

/* Before 23.02 this function has an argument, JobCompLoc. */
extern int jobcomp_p_set_location(char *location)
{
    LEAVES_ERRNO(errno);
    return next.set_location ? next.set_location(location) : SLURM_SUCCESS;
}

static int record(uint32_t hook, void *job, uint32_t event)
{
    int (*pass_on)(void *, uint32_t) = hook == HOOK_job_end ? next.record_end : next.record_start;
    int rc = keep(hook, job);

    if (pass_on && pass_on(job, event))
        rc = SLURM_ERROR;
    return rc;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
/* The event is passed on to the next plugin; here the name of the function implies it. */
extern int jobcomp_p_record_job_end(void *job, uint32_t event)
{
    LEAVES_ERRNO(errno);
    return record(HOOK_job_end, job, event);
}

extern int jobcomp_p_record_job_start(void *job, uint32_t event)
{
    LEAVES_ERRNO(errno);
    return record(HOOK_job_start, job, event);
}
#else
extern int jobcomp_p_log_record(void *job)
{
    LEAVES_ERRNO(errno);
    return record(HOOK_job_end, job, 0);
}
#endif

extern void *jobcomp_p_get_jobs(void *condition)
{
    LEAVES_ERRNO(errno);
    if (next.get_jobs)
        return next.get_jobs(condition);
    slurm_info("jobcomp/python cannot show jobs: set [jobcomp] next to a plugin that can");
    return NULL;
}
