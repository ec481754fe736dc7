/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "client/client.h"

/* The header of a message on a channel. */
struct header {
    uint32_t length;
    uint32_t kind;
};

/*
 * The first read, in bytes: most answers are smaller. The buffer is not on the stack, since slurmctld has many threads,
 * and stack memory that was used once stays allocated.
 */
#define START 4096

int64_t channel_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Wait until a descriptor is ready. RET false at the deadline. */
static bool wait_for(int fd, short events, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - channel_now();
        if (left <= 0)
            return false;
        struct timespec timeout = {left / 1000000000, left % 1000000000};
        struct pollfd polled = {.fd = fd, .events = events};
        int ready = ppoll(&polled, 1, &timeout, NULL);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
    }
}

static bool is_temporary(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

bool channel_has_more(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

enum channel_result channel_send(int fd, enum slurmhooks_channel_kind kind, const void *data, size_t length,
                                 int64_t deadline)
{
    if (length > SLURMHOOKS_MAX_MESSAGE)
        return CHANNEL_INVALID;
    struct header header = {(uint32_t)length, kind};
    struct iovec parts[2] = {{&header, sizeof(header)}, {(void *)data, length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (!is_temporary(errno))
                return CHANNEL_CLOSED;
            if (!wait_for(fd, POLLOUT, deadline))
                return CHANNEL_TIMED_OUT;
            continue;
        }
        for (int i = 0; i < 2; i++) {
            size_t part = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            if (!part)
                continue; /* data may be NULL */
            parts[i].iov_base = (char *)parts[i].iov_base + part;
            parts[i].iov_len -= part;
            sent -= (ssize_t)part;
        }
    }
    return CHANNEL_OK;
}

/* Receive at least one byte. IN parts, count: the buffers. OUT got: the number of bytes; 0 unless CHANNEL_OK. */
static enum channel_result receive_some(int fd, struct iovec *parts, int count, int64_t deadline, size_t *got)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};

    *got = 0;
    for (;;) {
        ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT);
        if (size > 0) {
            *got = (size_t)size;
            return CHANNEL_OK;
        }
        if (size == 0)
            return CHANNEL_CLOSED;
        if (!is_temporary(errno))
            return CHANNEL_CLOSED;
        if (!wait_for(fd, POLLIN, deadline))
            return CHANNEL_TIMED_OUT;
    }
}

enum channel_result channel_receive(int fd, int64_t deadline, uint32_t *kind, void **data, size_t *length)
{
    enum channel_result result = CHANNEL_OK;
    struct header header;
    char *message = malloc(START), *larger;
    size_t received = 0, got;

    if (!message)
        return CHANNEL_NO_MEMORY;
    /* The other side takes longer to answer than this one to get here: a read before would find nothing. */
    if (!wait_for(fd, POLLIN, deadline))
        result = CHANNEL_TIMED_OUT;
    while (result == CHANNEL_OK && received < sizeof(header)) {
        struct iovec parts[2] = {{(char *)&header + received, sizeof(header) - received}, {message, START}};
        result = receive_some(fd, parts, 2, deadline, &got);
        received += got;
    }
    if (result == CHANNEL_OK && (header.length > SLURMHOOKS_MAX_MESSAGE || received - sizeof(header) > header.length))
        result = CHANNEL_INVALID;
    if (result == CHANNEL_OK && header.length > START) {
        larger = realloc(message, header.length);
        if (larger)
            message = larger;
        else
            result = CHANNEL_NO_MEMORY;
    }
    for (received -= sizeof(header); result == CHANNEL_OK && received < header.length; received += got) {
        struct iovec part = {message + received, header.length - received};
        result = receive_some(fd, &part, 1, deadline, &got);
    }
    if (result != CHANNEL_OK) {
        free(message);
        return result;
    }
    *kind = header.kind;
    *data = message;
    *length = header.length;
    return CHANNEL_OK;
}
