/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between slurmctld and the supervisor, over SOCK_SEQPACKET. Counterpart: slurmhooks/worker/control.py. */
#ifndef SLURMHOOKS_CONTROL_H
#define SLURMHOOKS_CONTROL_H

#include <stdint.h>

enum control_kind {
    CONTROL_WORKER = 1,       /* with two descriptors: the channel, the status page */
    CONTROL_DIED = 2,         /* value: the wait status */
    CONTROL_SERVING = 3,      /* value: [job_submit] timeout in ms; pid: whether on_unavailable is "accept" */
    CONTROL_UNAVAILABLE = 4,  /* followed by the reason */
    CONTROL_ACKNOWLEDGED = 5, /* to the supervisor */
    CONTROL_RELEASED = 6,     /* to the supervisor */
};

struct control {
    uint32_t kind;
    uint32_t generation;
    uint32_t pid;
    int32_t value;
};

#define CONTROL_MAX 4096

#endif
