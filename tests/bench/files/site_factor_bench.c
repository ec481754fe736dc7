/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measure site_factor_python.so with simulated jobs: the time with slurmctld's locks, and the time of a worker.
 *
 *     cc -O2 -rdynamic -DHAVE_CONFIG_H -I$SOURCE site_factor_bench.c -o bench -ldl -lpthread $LIBSLURMFULL
 *     ./bench /usr/local/lib/slurm/site_factor_python.so 100000
 *
 * It has the functions and variables of slurmctld that the plugin needs; the handlers are those of slurmhooks.toml,
 * one of which has to return record.priority. Run it as SlurmUser.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "slurm/slurm.h"
#include "src/common/list.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#define ROUNDS 5

list_t *job_list;
time_t last_job_update;
static job_record_t **jobs;
static uint32_t count;

/* One lock is held at a time, because nothing else runs here. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double locked_at, locked, longest;
static unsigned times;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

extern void lock_slurmctld(slurmctld_lock_t levels)
{
    (void)levels;
    pthread_mutex_lock(&mutex);
    locked_at = now();
}

extern void unlock_slurmctld(slurmctld_lock_t levels)
{
    double held = now() - locked_at;

    (void)levels;
    locked += held;
    longest = held > longest ? held : longest;
    times++;
    pthread_mutex_unlock(&mutex);
}

/* Like slurmctld's: a hash table whose chains have about one job. */
extern job_record_t *find_job_record(uint32_t job_id)
{
    return job_id && job_id <= count ? jobs[job_id - 1] : NULL;
}

static void make_jobs(part_record_t *part)
{
    job_list = list_create(NULL);
    jobs = calloc(count, sizeof(*jobs));
    for (uint32_t i = 0; i < count; i++) {
        job_record_t *job = jobs[i] = xmalloc(sizeof(*job));
        job->job_id = i + 1;
        job->job_state = JOB_PENDING;
        job->site_factor = NICE_OFFSET;
        job->user_id = 1000 + i % 500;
        job->account = xstrdup_printf("project%u", i % 100);
        job->name = xstrdup_printf("run_%u", i);
        job->partition = xstrdup(i % 3 ? "batch" : "debug");
        job->part_ptr = part;
        job->time_limit = 60 + i % 1000;
        job->details = xmalloc(sizeof(*job->details));
        job->details->submit_time = time(NULL);
        job->details->min_cpus = 1 + i % 64;
        job->details->work_dir = xstrdup("/home/user/work");
        list_append(job_list, job);
    }
}

/* Processor time of all workers, in milliseconds. */
static double worker_time(void)
{
    char line[256];
    double ticks = 0;
    FILE *all = popen("cat /proc/[0-9]*/stat 2>/dev/null | grep '(slurmhooks-work)' | awk '{print $14 + $15}'", "r");

    while (all && fgets(line, sizeof(line), all))
        ticks += atof(line);
    if (all)
        pclose(all);
    return ticks * 1000 / (double)sysconf(_SC_CLK_TCK);
}

static void wait_for(uint32_t priority)
{
    while (((volatile job_record_t *)jobs[count - 1])->site_factor != NICE_OFFSET + priority)
        usleep(1000);
}

int main(int argc, char **argv)
{
    part_record_t part = {.name = "batch"};

    if (argc != 3)
        return 2;
    count = (uint32_t)atoi(argv[2]);
    make_jobs(&part);
    slurm_conf.priority_calc_period = 2;
    void *plugin = dlopen(argv[1], RTLD_LAZY);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*init)(void) = dlsym(plugin, "init");
    int (*fini)(void) = dlsym(plugin, "fini");
    void (*set)(job_record_t *) = dlsym(plugin, "site_factor_p_set");
    void (*update)(void) = dlsym(plugin, "site_factor_p_update");
    for (uint32_t i = 0; i < count; i++)
        jobs[i]->priority = 1;
    double start = now();
    init();
    wait_for(1);
    printf("first: %.0f ms after init(), locks held %.1f ms, at most %.2f ms at once\n", now() - start, locked,
           longest);
    for (uint32_t round = 2; round < 2 + ROUNDS; round++) {
        for (uint32_t i = 0; i < count; i++)
            jobs[i]->priority = round;
        usleep(100000);
        double before = worker_time();
        locked = longest = times = 0;
        update();
        while (!times)
            usleep(100);
        start = now();
        wait_for(round);
        double took = now() - start;
        usleep(20000);
        printf("%u jobs: %.0f ms, workers %.0f ms, locks held %.1f ms in %u times, at most %.2f ms at once\n", count,
               took, worker_time() - before, locked, times, longest);
    }
    start = now();
    for (uint32_t i = 0; i < 1000; i++)
        set(jobs[i]);
    printf("a new job: %.3f ms\n", (now() - start) / 1000);
    fini();
    return 0;
}
