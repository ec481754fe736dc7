/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/control.h"
#include "client/late.h"
#include "client/pool.h"
#include "client/thread.h"

/*
 * The timeout of requests until the first workers report the configured one. Python needs time to start, and commands
 * of users wait for MessageTimeout, 10 s by default: then they say that the connection timed out, not what is wrong.
 */
#define START_MS 5000

void pool_log(struct slurmhooks_client *client, enum slurmhooks_level level, const char *format, ...)
{
    char line[SLURMHOOKS_DETAIL_MAX + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    client->log(level, line);
}

void pool_kill(struct slurmhooks_client *client, const struct worker *worker)
{
    struct control kill = {CONTROL_KILL, worker->generation, {(uint32_t)worker->pid}, 0};

    if (client->control >= 0)
        send(client->control, &kill, sizeof(kill), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void pool_discard(struct slurmhooks_client *client, struct worker *worker, bool kill)
{
    struct control released = {CONTROL_RELEASED, worker->generation, {(uint32_t)worker->pid}, 0};
    struct worker **link = &client->workers;

    /* The supervisor reaps the worker only after its release; until then its process id is not reused. */
    if (kill)
        pool_kill(client, worker);
    while (*link != worker)
        link = &(*link)->next;
    *link = worker->next;
    close(worker->channel);
    close(worker->page);
    /* When slurmctld ends, no more workers may start. */
    if (client->control >= 0 && !client->stopping)
        send(client->control, &released, sizeof(released), MSG_NOSIGNAL | MSG_DONTWAIT);
    free(worker);
}

static char **copy_command(const char *const *command)
{
    size_t count = 0;

    while (command[count])
        count++;
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = strdup(command[i]);
    return copy;
}

/* Free the client, and close its descriptors. */
static void free_client(struct slurmhooks_client *client)
{
    for (int i = 0; i < 2; i++)
        if (client->output[i] >= 0)
            close(client->output[i]);
    if (client->wake >= 0)
        close(client->wake);
    for (char **word = client->command; word && *word; word++)
        free(*word);
    free(client->command);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

struct slurmhooks_client *slurmhooks_client_start(const struct slurmhooks_client_config *config)
{
    struct slurmhooks_client *client = calloc(1, sizeof(*client));
    int error = 0;

    if (!client)
        return NULL;
    pthread_mutex_init(&client->lock, NULL);
    start_condition(&client->changed);
    client->timeout_ms = START_MS;
    client->control = client->output[0] = client->output[1] = -1;
    client->log = config->log;
    client->late = config->late;
    client->command = copy_command(config->command);
    client->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Only the read end is non-blocking: workers wait if the pipe is full. */
    if (!client->command || client->wake < 0 || pipe2(client->output, O_CLOEXEC) ||
        fcntl(client->output[0], F_SETFL, O_NONBLOCK))
        error = client->command ? errno : ENOMEM;
    if (!error) {
        late_start();
        lines_start(&client->lines, client->output[0], client->log);
        error = start_thread(&client->monitor, SMALL_STACK, monitor_run, client);
    }
    if (error) {
        free_client(client);
        errno = error;
        return NULL;
    }
    return client;
}

void slurmhooks_client_tell(struct slurmhooks_client *client, enum slurmhooks_unserved how,
                            enum slurmhooks_result result, const char *text)
{
    struct control unserved = {.kind = CONTROL_UNSERVED, .about = result, .value = (int32_t)how};
    struct iovec parts[2] = {{&unserved, sizeof(unserved)}, {(void *)text, strlen(text)}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};

    pthread_mutex_lock(&client->lock);
    if (client->control >= 0)
        sendmsg(client->control, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    pthread_mutex_unlock(&client->lock);
}

void slurmhooks_client_interrupt(struct slurmhooks_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->stopping = true;
    for (struct worker *worker = client->workers, *next; worker; worker = next) {
        next = worker->next;
        if (worker->busy)
            shutdown(worker->channel, SHUT_RDWR);
        else
            pool_discard(client, worker, false);
    }
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

void slurmhooks_client_stop(struct slurmhooks_client *client)
{
    uint64_t one = 1;

    late_stop();
    slurmhooks_client_interrupt(client);
    pthread_mutex_lock(&client->lock);
    while (client->exchanges)
        pthread_cond_wait(&client->changed, &client->lock);
    pthread_mutex_unlock(&client->lock);
    if (write(client->wake, &one, sizeof(one)) < 0)
        pool_log(client, SLURMHOOKS_ERROR, "eventfd: %s", strerror(errno));
    pthread_join(client->monitor, NULL);
    free_client(client);
}

bool slurmhooks_client_accepts(struct slurmhooks_client *client)
{
    pthread_mutex_lock(&client->lock);
    bool accepts = client->accepts;
    pthread_mutex_unlock(&client->lock);
    return accepts;
}

int64_t slurmhooks_client_deadline(struct slurmhooks_client *client, unsigned ms)
{
    pthread_mutex_lock(&client->lock);
    unsigned time = ms ? ms : client->timeout_ms;
    pthread_mutex_unlock(&client->lock);
    return channel_now() + (int64_t)time * 1000000;
}

bool slurmhooks_client_wait(struct slurmhooks_client *client, unsigned ms, char *reason)
{
    int64_t deadline = slurmhooks_client_deadline(client, ms);
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    int error = 0;

    pthread_mutex_lock(&client->lock);
    while (!client->workers && !client->unavailable && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&client->changed, &client->lock, &until);
    bool serves = client->workers != NULL;
    if (!serves)
        snprintf(reason, SLURMHOOKS_DETAIL_MAX, "%s",
                 client->unavailable ? client->reason : "no worker was ready in time");
    pthread_mutex_unlock(&client->lock);
    return serves;
}

int64_t slurmhooks_client_left(int64_t deadline)
{
    return deadline - channel_now();
}
