/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between slurmctld and the supervisor, over SOCK_SEQPACKET. Counterpart: slurmhooks/worker/control.py. */
#ifndef SLURMHOOKS_CONTROL_H
#define SLURMHOOKS_CONTROL_H

#include <stdint.h>

enum control_kind {
    CONTROL_WORKER = 1,       /* a new worker; with two descriptors: its channel, its status page */
    CONTROL_DIED = 2,         /* a worker has ended; value: its wait status */
    CONTROL_SERVING = 3,      /* a generation is ready; value: timeout in ms; pid: 1 if on_unavailable is "accept" */
    CONTROL_UNAVAILABLE = 4,  /* the hooks do not load; followed by the reason */
    CONTROL_ACKNOWLEDGED = 5, /* to the supervisor: requests now go to this generation */
    CONTROL_RELEASED = 6,     /* to the supervisor: this worker is no longer used */
    CONTROL_OBSERVER = 10,    /* handlers that observe may ask; with a descriptor: their channel, see late.h */
    CONTROL_KILL = 12,        /* to the supervisor: kill this worker, with the programs that it has started */
    CONTROL_UNSERVED = 11,    /* to the supervisor: slurmctld decided without an answer; value: how; pid: result */
};

struct control {
    uint32_t kind;
    uint32_t generation;
    uint32_t pid;
    int32_t value;
};

/* Largest message in bytes, header included. */
#define CONTROL_MAX 4096

#endif
