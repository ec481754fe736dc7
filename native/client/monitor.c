/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The monitor thread: starts the supervisor, updates the pool of workers from its messages, logs what workers write. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/control.h"
#include "client/late.h"
#include "client/pool.h"
#include "client/spawn.h"

#define MS 1000000LL
#define BACKOFF_MIN_MS 50
#define BACKOFF_MAX_MS 10000
/* If a supervisor has run for at least this long, the delay before its restart is not increased. */
#define STABLE_MS 10000
/* An unfinished line is logged after this time. */
#define FLUSH_MS 1000
/* How long the supervisor may take to end. */
#define END_MS 4000

/* A message of the supervisor. */
struct message {
    struct control control;
    char text[SLURMHOOKS_MAX_CONTROL_MESSAGE - sizeof(struct control) + 1];
    int fds[2]; /* -1: none */
};

/* Refuse requests for this reason until a worker serves. */
static void set_unavailable(struct slurmhooks_client *client, const char *reason)
{
    pthread_mutex_lock(&client->lock);
    client->unavailable = true;
    snprintf(client->reason, sizeof(client->reason), "%.*s", (int)sizeof(client->reason) - 1, reason);
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

/* Start the supervisor; if that fails, set the time of the next attempt. */
static void start_supervisor(struct slurmhooks_client *client)
{
    int control, error = spawn_supervisor(client->command, client->output[1], &control, &client->supervisor);
    bool first = client->backoff_ms == 0;
    char reason[SLURMHOOKS_DETAIL_MAX];

    client->started = channel_now();
    client->restart = 0;
    if (error) {
        client->supervisor = 0;
        client->backoff_ms = first ? BACKOFF_MIN_MS : client->backoff_ms * 2;
        if (client->backoff_ms > BACKOFF_MAX_MS)
            client->backoff_ms = BACKOFF_MAX_MS;
        client->restart = client->started + client->backoff_ms * MS;
        snprintf(reason, sizeof(reason), "cannot start %s, the supervisor of the workers: %s", client->command[0],
                 strerror(error));
        set_unavailable(client, reason);
        if (first)
            pool_log(client, SLURMHOOKS_ERROR,
                     "%s; trying again. Until then no hook runs: put this Python back, or take the plugins out of "
                     "slurm.conf and restart slurmctld",
                     reason);
        return;
    }
    pthread_mutex_lock(&client->lock);
    client->control = control;
    pthread_mutex_unlock(&client->lock);
}

/* End the supervisor, if it still runs, and all workers. RET its wait status, or -1 if that is unknown. */
static int end_supervisor(struct slurmhooks_client *client)
{
    int status = -1;

    pthread_mutex_lock(&client->lock);
    for (struct worker *worker = client->workers, *next; worker; worker = next) {
        next = worker->next;
        worker->dead = true;
        shutdown(worker->channel, SHUT_RDWR);
        /* The kernel kills workers when their generation ends, and generations when the supervisor ends. */
        if (!worker->busy)
            pool_discard(client, worker, false);
    }
    if (client->control >= 0)
        close(client->control);
    client->control = -1;
    client->serving = 0;
    client->unavailable = false;
    pthread_mutex_unlock(&client->lock);
    if (!client->supervisor)
        return status;
    kill(client->supervisor, SIGKILL);
    /* Fails if slurmctld has already waited for this process, or ignores SIGCHLD. */
    while (waitpid(client->supervisor, &status, 0) < 0 && errno == EINTR)
        ;
    client->supervisor = 0;
    return status;
}

/* The supervisor has ended: clean up, and set the time when it is started again. */
static void replace_supervisor(struct slurmhooks_client *client)
{
    bool was_stable = channel_now() - client->started > STABLE_MS * MS, served = client->serving;
    bool again = client->backoff_ms > 0;
    int status = end_supervisor(client);
    char end[96];

    client->backoff_ms = was_stable || !client->backoff_ms ? BACKOFF_MIN_MS : client->backoff_ms * 2;
    if (client->backoff_ms > BACKOFF_MAX_MS)
        client->backoff_ms = BACKOFF_MAX_MS;
    client->restart = channel_now() + client->backoff_ms * MS;
    if (status >= 0 && WIFSIGNALED(status))
        snprintf(end, sizeof(end), "the supervisor of the workers was killed by signal %d", WTERMSIG(status));
    else
        snprintf(end, sizeof(end), "the supervisor of the workers ended with exit code %d",
                 status >= 0 ? WEXITSTATUS(status) : -1);
    pool_log(client, SLURMHOOKS_ERROR, "%s; starting it again", end);
    /* One that is killed is replaced within a second; one that ends again and again before it serves is broken. */
    if (again && !served)
        set_unavailable(client, end);
}

/* Handle CONTROL_WORKER. */
static void add_worker(struct slurmhooks_client *client, struct message *message)
{
    bool valid = message->fds[1] >= 0;
    struct worker *worker = valid ? calloc(1, sizeof(*worker)) : NULL;

    if (!worker) {
        /* Memory or descriptors are short. */
        struct control released = {CONTROL_RELEASED, message->control.generation, {message->control.pid}, 1};
        send(client->control, &released, sizeof(released), MSG_NOSIGNAL | MSG_DONTWAIT);
        return;
    }
    worker->pid = (pid_t)message->control.pid;
    worker->generation = message->control.generation;
    worker->channel = message->fds[0];
    worker->page = message->fds[1];
    message->fds[0] = message->fds[1] = -1;
    pthread_mutex_lock(&client->lock);
    worker->next = client->workers;
    client->workers = worker;
    client->unavailable = false;
    /* The message has come too late for this worker to be used. */
    if (client->stopping || worker->generation < client->serving)
        pool_discard(client, worker, false);
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

/* Describe how a process ended. OUT text: for the log. */
static void describe(char *text, size_t size, int status)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with exit code %d", WEXITSTATUS(status));
}

/* Handle CONTROL_DIED. */
static void remove_worker(struct slurmhooks_client *client, const struct control *control)
{
    struct worker *worker;
    char end[128];

    pthread_mutex_lock(&client->lock);
    for (worker = client->workers; worker; worker = worker->next)
        if (worker->pid == (pid_t)control->pid && worker->generation == control->generation)
            break;
    bool in_pool = worker != NULL;
    if (worker && worker->busy) {
        /*
         * The thread that uses the worker discards it; shutdown() wakes that thread even if a child of the worker still
         * has the other end open.
         */
        worker->dead = true;
        shutdown(worker->channel, SHUT_RDWR);
    } else if (worker) {
        pool_discard(client, worker, false);
    }
    pthread_mutex_unlock(&client->lock);
    if (in_pool) {
        describe(end, sizeof(end), control->value);
        pool_log(client, SLURMHOOKS_ERROR, "worker %d %s", (int)control->pid, end);
    }
}

/* Handle CONTROL_SERVING: from now on requests go to this generation. */
static void serve_generation(struct slurmhooks_client *client, const struct control *control)
{
    struct control acknowledged = {CONTROL_ACKNOWLEDGED, control->generation, {0}, 0};

    pthread_mutex_lock(&client->lock);
    client->serving = control->generation;
    client->timeout_ms = (unsigned)control->value;
    client->accepts = control->about != 0;
    for (struct worker *worker = client->workers, *next; worker; worker = next) {
        next = worker->next;
        if (!worker->busy && worker->generation < client->serving)
            pool_discard(client, worker, false);
    }
    send(client->control, &acknowledged, sizeof(acknowledged), MSG_NOSIGNAL | MSG_DONTWAIT);
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

/* Handle CONTROL_UNAVAILABLE. */
static void refuse(struct slurmhooks_client *client, const struct message *message)
{
    pthread_mutex_lock(&client->lock);
    if (message->control.about != AVAILABILITY_UNKNOWN)
        client->accepts = message->control.about == AVAILABILITY_ACCEPT;
    pthread_mutex_unlock(&client->lock);
    set_unavailable(client, message->text);
}

/* OUT fds: the first two descriptors of a message. Others are closed. */
static void take_descriptors(struct msghdr *header, int fds[2])
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        size_t count = part->cmsg_type == SCM_RIGHTS ? (part->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            if (i < 2 && fds[i] < 0)
                fds[i] = fd;
            else
                close(fd);
        }
    }
}

/* Receive and handle one message. RET false if the supervisor has ended or the message is invalid. */
static bool receive(struct slurmhooks_client *client, struct message *message)
{
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr aligned;
    } rights;
    struct iovec parts[2] = {{&message->control, sizeof(message->control)}, {message->text, sizeof(message->text) - 1}};
    struct msghdr header = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = rights.bytes, .msg_controllen = sizeof(rights)};
    ssize_t size;

    message->fds[0] = message->fds[1] = -1;
    size = recvmsg(client->control, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR;
    take_descriptors(&header, message->fds);
    if (size < (ssize_t)sizeof(message->control))
        return false;
    message->text[size - (ssize_t)sizeof(message->control)] = '\0';
    switch (message->control.kind) {
    case CONTROL_WORKER: add_worker(client, message); break;
    case CONTROL_DIED: remove_worker(client, &message->control); break;
    case CONTROL_SERVING: serve_generation(client, &message->control); break;
    case CONTROL_UNAVAILABLE: refuse(client, message); break;
    case CONTROL_OBSERVER:
        if (client->late && message->fds[0] >= 0) {
            late_serve(client->late, message->fds[0]);
            message->fds[0] = -1;
        }
        break;
    }
    for (int i = 0; i < 2; i++)
        if (message->fds[i] >= 0)
            close(message->fds[i]);
    return true;
}

/*
 * End the supervisor and all workers: the supervisor has END_MS to end the workers and itself. Log what they still
 * write.
 */
static void finish(struct slurmhooks_client *client)
{
    int64_t until = channel_now() + END_MS * MS;
    struct pollfd polled = {.fd = client->output[0], .events = POLLIN};

    if (client->supervisor) {
        /*
         * close() is not enough: a process that slurmctld has forked may also have the socket open, and a worker whose
         * descriptors are in an unread message would wait for requests forever.
         */
        shutdown(client->control, SHUT_RDWR);
        pthread_mutex_lock(&client->lock);
        close(client->control);
        client->control = -1;
        pthread_mutex_unlock(&client->lock);
        while (channel_now() < until) {
            pid_t ended = waitpid(client->supervisor, NULL, WNOHANG);
            if (ended == client->supervisor || (ended < 0 && errno != EINTR)) {
                client->supervisor = 0;
                break;
            }
            if (poll(&polled, 1, 5) > 0)
                lines_read(&client->lines);
        }
        end_supervisor(client);
    }
    lines_read(&client->lines);
    lines_flush(&client->lines);
}

/* RET the milliseconds until the next flush or restart, for poll(); -1: none is due. */
static int poll_timeout(struct slurmhooks_client *client)
{
    int timeout = lines_pending(&client->lines) ? FLUSH_MS : -1;

    if (client->restart) {
        int64_t left = (client->restart - channel_now()) / MS + 1;
        if (left < 0)
            left = 0;
        if (timeout < 0 || left < timeout)
            timeout = (int)left;
    }
    return timeout;
}

void *monitor_run(void *argument)
{
    struct slurmhooks_client *client = argument;
    struct message message;

    start_supervisor(client);
    for (;;) {
        struct pollfd polled[] = {{.fd = client->wake, .events = POLLIN},
                                  {.fd = client->output[0], .events = POLLIN},
                                  {.fd = client->control, .events = POLLIN}};
        int ready = poll(polled, 3, poll_timeout(client));

        if (polled[0].revents)
            break;
        if (polled[1].revents)
            lines_read(&client->lines);
        if (ready == 0)
            lines_flush(&client->lines);
        if (polled[2].revents && !receive(client, &message))
            replace_supervisor(client);
        if (client->restart && channel_now() >= client->restart)
            start_supervisor(client);
    }
    finish(client);
    return NULL;
}
