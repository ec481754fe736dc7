/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exchanges messages with workers, as the plugin for slurmctld does. Arguments: the command of the supervisor.
 *
 * Reads commands from standard input, one per line, and prints one line for each:
 *   exchange MS TEXT            send TEXT: the result, a tab, then the answer or what went wrong
 *   many THREADS COUNT MS TEXT  COUNT exchanges in each thread at the same time: how often each result occurred
 *   bench COUNT SIZE            exchange SIZE bytes COUNT times: median and 95th percentile in microseconds
 *   accepts                     1 if on_unavailable is "accept", else 0
 *   facts                       the numbers of open descriptors and of threads of this process
 *   lock, unlock                take and release the lock that questions after the answer need
 *   stop                        stop the client; only lock and unlock may follow
 * MS is the deadline. Lines of the log go to standard error, as LEVEL, a space and the text.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/channel.h"
#include "client/client.h"
#include "client/late.h"

#define TEXT_MAX 65536
#define THREADS_MAX 64

static struct slurmhooks_client *client;

static const char *const names[] = {"OK", "TIMED_OUT", "WORKER_DIED", "UNAVAILABLE", "PROTOCOL"};

struct load {
    pthread_t thread;
    unsigned count;
    unsigned deadline_ms;
    const char *text;
    unsigned results[5];
    unsigned wrong; /* exchanges that got the answer to another request */
};

static void write_log(enum slurmhooks_level level, const char *line)
{
    fprintf(stderr, "%d %s\n", (int)level, line);
}

/*
 * Answer a worker's question: "bad" is invalid, "discard" and its process id discards the worker; any one but "bad" is
 * returned after "you asked ".
 */
static bool reply(void *context, const void *question, size_t length, void **answer, size_t *answer_length)
{
    static const char word[] = "you asked ";
    (void)context;

    if (length == 3 && !memcmp(question, "bad", 3))
        return false;
    if (length > 8 && !memcmp(question, "discard", 7))
        slurmhooks_client_discard(client, (uint32_t)strtoul((const char *)question + 8, NULL, 10));
    *answer_length = sizeof(word) - 1 + length;
    *answer = malloc(*answer_length);
    if (!*answer)
        return false;
    memcpy(*answer, word, sizeof(word) - 1);
    memcpy((char *)*answer + sizeof(word) - 1, question, length);
    return true;
}

static pthread_mutex_t records = PTHREAD_MUTEX_INITIALIZER;

static void lock_records(void)
{
    pthread_mutex_lock(&records);
}

static void unlock_records(void)
{
    pthread_mutex_unlock(&records);
}

static const struct slurmhooks_late late = {lock_records, unlock_records, reply};

static void exchange(unsigned deadline_ms, const char *text)
{
    struct slurmhooks_failure failure;
    void *answer = NULL;
    size_t length = 0;
    enum slurmhooks_result result =
        slurmhooks_client_exchange(client, text, strlen(text), slurmhooks_client_deadline(client, deadline_ms), reply,
                                   NULL, &answer, &length, &failure);

    if (result == SLURMHOOKS_OK)
        printf("%s\t%.*s\n", names[result], (int)length, (char *)answer);
    else
        printf("%s\t%s\n", names[result], failure.detail);
    free(answer);
}

static void *run_load(void *argument)
{
    struct load *load = argument;
    char text[TEXT_MAX + 64];

    for (unsigned i = 0; i < load->count; i++) {
        void *answer = NULL;
        size_t length = 0;
        int size = snprintf(text, sizeof(text), "%s %lu %u", load->text, (unsigned long)load->thread, i);
        enum slurmhooks_result result = slurmhooks_client_exchange(
            client, text, (size_t)size, slurmhooks_client_deadline(client, load->deadline_ms), reply, NULL, &answer,
            &length, NULL);
        load->results[result]++;
        if (result == SLURMHOOKS_OK && (length != (size_t)size || memcmp(answer, text, length)))
            load->wrong++;
        free(answer);
    }
    return NULL;
}

static void many(unsigned threads, unsigned count, unsigned deadline_ms, const char *text)
{
    static struct load loads[THREADS_MAX];
    unsigned results[5] = {0}, wrong = 0;

    memset(loads, 0, sizeof(loads));
    for (unsigned i = 0; i < threads && i < THREADS_MAX; i++) {
        loads[i].count = count;
        loads[i].deadline_ms = deadline_ms;
        loads[i].text = text;
        pthread_create(&loads[i].thread, NULL, run_load, &loads[i]);
    }
    for (unsigned i = 0; i < threads && i < THREADS_MAX; i++) {
        pthread_join(loads[i].thread, NULL);
        wrong += loads[i].wrong;
        for (int result = 0; result < 5; result++)
            results[result] += loads[i].results[result];
    }
    for (int result = 0; result < 5; result++)
        printf("%s=%u ", names[result], results[result]);
    printf("WRONG=%u\n", wrong);
}

static int compare(const void *left, const void *right)
{
    int64_t difference = *(const int64_t *)left - *(const int64_t *)right;
    return difference < 0 ? -1 : difference > 0;
}

static void bench(unsigned count, unsigned size)
{
    int64_t *times = calloc(count, sizeof(*times));
    char *text = calloc(1, size + 5);

    if (!times || !text || !count)
        abort();
    memset(text, 'x', size);
    memcpy(text, "echo", 4);
    for (unsigned i = 0; i < count; i++) {
        void *answer = NULL;
        size_t length;
        int64_t before = channel_now();
        if (slurmhooks_client_exchange(client, text, size, slurmhooks_client_deadline(client, 5000), NULL, NULL,
                                       &answer, &length, NULL) != SLURMHOOKS_OK)
            break;
        times[i] = channel_now() - before;
        free(answer);
    }
    qsort(times, count, sizeof(*times), compare);
    printf("median %.1f us, 95%% %.1f us\n", (double)times[count / 2] / 1e3, (double)times[count * 95 / 100] / 1e3);
    free(times);
    free(text);
}

static unsigned count_entries(const char *folder)
{
    DIR *directory = opendir(folder);
    unsigned count = 0;

    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static void run_command(char *line)
{
    unsigned threads, count, ms;
    int text = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "exchange %u %n", &ms, &text) == 1)
        exchange(ms, line + text);
    else if (sscanf(line, "many %u %u %u %n", &threads, &count, &ms, &text) == 3)
        many(threads, count, ms, line + text);
    else if (sscanf(line, "bench %u %u", &count, &ms) == 2)
        bench(count, ms);
    else if (!strcmp(line, "accepts"))
        printf("%d\n", slurmhooks_client_accepts(client));
    else if (!strcmp(line, "facts"))
        printf("%u %u\n", count_entries("/proc/self/fd"), count_entries("/proc/self/task"));
    else if (!strcmp(line, "lock")) {
        lock_records();
        printf("locked\n");
    } else if (!strcmp(line, "unlock")) {
        unlock_records();
        printf("unlocked\n");
    } else if (!strcmp(line, "stop") && client) {
        slurmhooks_client_stop(client);
        client = NULL;
        printf("stopped\n");
    } else
        printf("?\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct slurmhooks_client_config config = {(const char *const *)argv + 1, write_log, &late};
    static char line[TEXT_MAX];
    sigset_t blocked;

    if (argc < 2)
        return 2;
    /* As slurmctld does. */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    client = slurmhooks_client_start(&config);
    if (!client)
        return 1;
    while (fgets(line, sizeof(line), stdin))
        run_command(line);
    return 0;
}
