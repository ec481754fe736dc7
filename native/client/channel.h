/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exchanges messages with one worker, until a deadline. Counterpart: slurmhooks/worker/channel.py. */
#ifndef SLURMHOOKS_CHANNEL_H
#define SLURMHOOKS_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

enum channel_result {
    CHANNEL_OK,
    CHANNEL_TIMED_OUT,
    CHANNEL_CLOSED, /* the worker ended, or closed its end */
    CHANNEL_INVALID,
    CHANNEL_NO_MEMORY,
};

/* RET CLOCK_MONOTONIC in nanoseconds. */
int64_t channel_now(void);

/* RET whether something has arrived that was not received yet. */
bool channel_has_more(int fd);

/* Send a message. IN deadline: a time of channel_now(). */
enum channel_result channel_send(int fd, enum slurmhooks_channel_kind kind, const void *data, size_t length,
                                 int64_t deadline);

/*
 * Receive a message.
 *
 * IN deadline  a time of channel_now()
 * OUT kind, data, length  with CHANNEL_OK; data is from malloc(), and not NULL
 */
enum channel_result channel_receive(int fd, int64_t deadline, uint32_t *kind, void **data, size_t *length);

#endif
