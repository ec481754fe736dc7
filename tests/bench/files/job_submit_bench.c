/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job_submit plugin that measures others where they run: in slurmctld, under its locks, on a real request.
 *
 * A submission named "bench:PLUGIN:MODE:COUNT" makes it call job_submit of that plugin COUNT times, each time with the
 * request as it was, and write the nanoseconds of each call to /tmp/bench-PLUGIN-MODE. MODE is "loop" (one thread),
 * "paced" (the same with a millisecond between two calls, about as long as slurmctld takes for the rest of a
 * submission), "fresh" (a thread of its own for each call, as in slurmctld of 22.05) or "pool" (one thread of many, as
 * in slurmctld of 24.11, which has 64 that take turns as they come). PLUGIN may be "echo": not a plugin, but the
 * minimum cost of a separate process: a request of the usual size to a C program that answers at once.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

const char plugin_name[] = "measures job_submit plugins";
const char plugin_type[] = "job_submit/bench";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

typedef int (*submit_f)(job_desc_msg_t *, uint32_t, char **);

extern void slurm_xfree(void **item);
extern char *slurm_xstrdup(const char *text);

struct call {
    submit_f submit;
    job_desc_msg_t *desc;
    uint32_t uid;
    long nanoseconds;
    int rc;
};

static void *measured(void *argument)
{
    struct call *call = argument;
    struct timespec start, end;
    char *message = NULL;

    clock_gettime(CLOCK_MONOTONIC, &start);
    call->rc = call->submit(call->desc, call->uid, &message);
    clock_gettime(CLOCK_MONOTONIC, &end);
    call->nanoseconds = (end.tv_sec - start.tv_sec) * 1000000000L + (end.tv_nsec - start.tv_nsec);
    slurm_xfree((void **)&message);
    return NULL;
}

#define POOL 64

struct worker {
    pthread_t thread;
    sem_t wanted, done;
    struct call *call; /* NULL: end */
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    while (!sem_wait(&worker->wanted) && worker->call) {
        measured(worker->call);
        sem_post(&worker->done);
    }
    return NULL;
}

static void have(struct worker *worker, struct call *call)
{
    worker->call = call;
    sem_post(&worker->wanted);
    if (call)
        sem_wait(&worker->done);
}

static void start(struct worker *pool)
{
    for (int i = 0; i < POOL; i++) {
        sem_init(&pool[i].wanted, 0, 0);
        sem_init(&pool[i].done, 0, 0);
        pthread_create(&pool[i].thread, NULL, work, &pool[i]);
    }
}

static void stop(struct worker *pool)
{
    for (int i = 0; i < POOL; i++) {
        have(&pool[i], NULL);
        pthread_join(pool[i].thread, NULL);
    }
}

/* Bytes of a packed request with 60 variables, and of an answer with four writes. */
#define REQUEST 3200
#define ANSWER 200

static int echo_socket = -1;

static int echo(job_desc_msg_t *desc, uint32_t uid, char **err_msg)
{
    static const char request[REQUEST];
    char answer[ANSWER];

    (void)desc;
    (void)uid;
    (void)err_msg;
    if (send(echo_socket, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
        recv(echo_socket, answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
        return SLURM_ERROR;
    return SLURM_SUCCESS;
}

/* The other side; ends with slurmctld. */
static void echo_serve(int fd)
{
    static char request[REQUEST], answer[ANSWER];

    while (recv(fd, request, sizeof(request), MSG_WAITALL) == sizeof(request) &&
           send(fd, answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer))
        ;
    _exit(0);
}

static submit_f start_echo(void)
{
    int pair[2];

    if (echo_socket >= 0)
        return echo;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return NULL;
    pid_t child = fork();
    if (child == 0) {
        /* Must inherit no descriptors of slurmctld, which would keep its ports busy. */
        dup2(pair[1], 0);
        closefrom(1);
        echo_serve(0);
    }
    close(pair[1]);
    echo_socket = child > 0 ? pair[0] : -1;
    return child > 0 ? echo : NULL;
}

static submit_f find(const char *plugin)
{
    static struct {
        char name[32];
        submit_f submit;
    } found[8];
    const char *folders[] = {"/usr/local/lib/slurm", "/usr/lib/x86_64-linux-gnu/slurm-wlm"};
    char path[256];
    int free_slot = -1;

    for (int i = 0; i < 8; i++) {
        if (!strcmp(found[i].name, plugin))
            return found[i].submit;
        if (!found[i].name[0] && free_slot < 0)
            free_slot = i;
    }
    for (size_t i = 0; free_slot >= 0 && i < 2; i++) {
        snprintf(path, sizeof(path), "%s/job_submit_%s.so", folders[i], plugin);
        void *library = dlopen(path, RTLD_LAZY);
        int (*start)(void) = library ? (int (*)(void))dlsym(library, "init") : NULL;
        if (!start || start() != SLURM_SUCCESS)
            continue;
        snprintf(found[free_slot].name, sizeof(found[free_slot].name), "%s", plugin);
        found[free_slot].submit = (submit_f)dlsym(library, "job_submit");
        return found[free_slot].submit;
    }
    return NULL;
}

/* The policy's writes are undone, so that each call sees the same request. */
static void restore(job_desc_msg_t *desc, const job_desc_msg_t *saved, const char *partition, const char *comment)
{
    slurm_xfree((void **)&desc->partition);
    slurm_xfree((void **)&desc->comment);
    desc->partition = partition ? slurm_xstrdup(partition) : NULL;
    desc->comment = comment ? slurm_xstrdup(comment) : NULL;
    desc->time_limit = saved->time_limit;
    desc->min_nodes = saved->min_nodes;
}

static int run(job_desc_msg_t *desc, uint32_t uid, submit_f submit, const char *plugin, const char *mode, int count)
{
    job_desc_msg_t saved = *desc;
    char *partition = desc->partition ? strdup(desc->partition) : NULL;
    char *comment = desc->comment ? strdup(desc->comment) : NULL;
    char path[256];
    int rc = SLURM_SUCCESS, pooled = !strcmp(mode, "pool");
    struct worker pool[POOL];

    snprintf(path, sizeof(path), "/tmp/bench-%s-%s", plugin, mode);
    FILE *file = fopen(path, "w");
    if (pooled)
        start(pool);
    /* A pool lives as long as slurmctld, so the first call of each of its threads does not count. */
    for (int i = pooled ? -POOL : 0; file && i < count; i++) {
        struct call call = {submit, desc, uid, 0, 0};
        pthread_t thread;
        if (pooled) {
            have(&pool[(unsigned)i * 29 % POOL], &call);
        } else if (!strcmp(mode, "fresh")) {
            pthread_create(&thread, NULL, measured, &call);
            pthread_join(thread, NULL);
        } else {
            if (!strcmp(mode, "paced"))
                usleep(1000);
            measured(&call);
        }
        if (i >= 0)
            fprintf(file, "%ld\n", call.nanoseconds);
        if (call.rc != SLURM_SUCCESS)
            rc = call.rc;
        restore(desc, &saved, partition, comment);
    }
    if (pooled)
        stop(pool);
    if (file)
        fclose(file);
    free(partition);
    free(comment);
    return file ? rc : SLURM_ERROR;
}

extern int job_submit(job_desc_msg_t *desc, uint32_t uid, char **err_msg)
{
    char plugin[32], mode[16];
    int count;

    if (!desc->name || sscanf(desc->name, "bench:%31[^:]:%15[^:]:%d", plugin, mode, &count) != 3)
        return SLURM_SUCCESS;
    submit_f submit = strcmp(plugin, "echo") ? find(plugin) : start_echo();
    int rc = submit ? run(desc, uid, submit, plugin, mode, count) : SLURM_ERROR;
    *err_msg = slurm_xstrdup(rc ? "bench: failed" : "bench: done");
    return SLURM_ERROR;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
extern int job_modify(job_desc_msg_t *desc, void *record, uint32_t uid, char **err_msg)
{
    (void)err_msg;
#else
extern int job_modify(job_desc_msg_t *desc, void *record, uint32_t uid)
{
#endif
    (void)desc;
    (void)record;
    (void)uid;
    return SLURM_SUCCESS;
}
