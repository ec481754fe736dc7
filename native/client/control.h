/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between slurmctld and the supervisor, over SOCK_SEQPACKET. Counterpart: slurmhooks/processes/control.py. */
#ifndef SLURMHOOKS_CONTROL_H
#define SLURMHOOKS_CONTROL_H

#include <stdint.h>

#include "protocol.h"

struct control {
    uint32_t kind; /* enum slurmhooks_control, which describes the other members */
    uint32_t generation;
    union {
        uint32_t pid; /* of a worker */
        uint32_t about;
    };
    int32_t value;
};

#endif
