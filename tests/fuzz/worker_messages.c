/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages and the output of a worker: the exchange ends, and log lines are short and contain no control
 * characters.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX 60000

/* A header may announce 64 MiB, which AddressSanitizer needs milliseconds to allocate; no input is that long. */
static void *small_realloc(void *block, size_t size)
{
    return realloc(block, size < INPUT_MAX ? size : INPUT_MAX);
}

#include "client/exchange.c"
#define realloc small_realloc
#include "client/channel.c"
#undef realloc

void pool_kill(struct slurmhooks_client *client, const struct worker *worker)
{
    (void)client, (void)worker;
}

void pool_discard(struct slurmhooks_client *client, struct worker *worker, bool kill)
{
    (void)client, (void)worker, (void)kill;
}

void pool_log(struct slurmhooks_client *client, enum slurmhooks_level level, const char *format, ...)
{
    (void)client, (void)level, (void)format;
}

static bool answer_question(void *context, const void *question, size_t length, void **answer, size_t *answer_length)
{
    int *left = context;

    *answer_length = length < 64 ? length : 64;
    *answer = malloc(64);
    FUZZ_EXPECT(*answer);
    memcpy(*answer, question, *answer_length);
    return --*left > 0;
}

static void check_line(enum slurmhooks_level level, const char *line)
{
    size_t length = strlen(line);

    FUZZ_EXPECT(level >= SLURMHOOKS_ERROR && level <= SLURMHOOKS_DEBUG3);
    FUZZ_EXPECT(length && length <= LINE_MAX_BYTES);
    for (size_t i = 0; i < length; i++)
        FUZZ_EXPECT((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
}

/* RET a descriptor from which the bytes can be read, up to its end. */
static int pipe_of(const uint8_t *data, size_t size, int ends[2])
{
    FUZZ_EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
    if (size && send(ends[1], data, size, MSG_NOSIGNAL) < 0)
        size = 0;
    shutdown(ends[1], SHUT_WR);
    return ends[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lines lines;
    struct slurmhooks_failure failure = {0};
    int ends[2], questions = 8;
    void *answer = NULL;
    size_t length = 0;
    bool last = false;

    if (size > INPUT_MAX)
        return 0;
    struct worker worker = {.channel = pipe_of(data, size, ends), .page = -1};
    enum slurmhooks_result result = run_exchange(&worker, "request", 8, channel_now() + 1000 * MS, answer_question,
                                                 &questions, &answer, &length, &last);
    FUZZ_EXPECT((result == SLURMHOOKS_OK) == (answer != NULL));
    for (size_t i = 0; answer && i < length; i++)
        questions += ((char *)answer)[i];
    close(ends[1]);
    close(worker.channel);

    /* The same bytes as the worker's status page, and as its output. */
    char text[SLURMHOOKS_STATUS_PAGE + 8];
    worker.page = memfd_create("page", MFD_CLOEXEC);
    FUZZ_EXPECT(worker.page >= 0 && write(worker.page, data, size) == (ssize_t)size);
    read_page(&worker, &failure, text, sizeof(text));
    FUZZ_EXPECT(memchr(failure.handler, 0, sizeof(failure.handler)) && memchr(text, 0, sizeof(text)));
    close(worker.page);

    lines_start(&lines, pipe_of(data, size, ends), check_line);
    lines_read(&lines);
    lines_flush(&lines);
    pthread_mutex_destroy(&lines.lock);
    close(ends[0]);
    close(ends[1]);
    free(answer);
    return 0;
}
