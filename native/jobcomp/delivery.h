/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that have workers deliver what is in the spool. What to deliver, and when again, is decided by the worker
 * (slurmhooks/jobcomp/delivery.py): a thread asks for one delivery after the other, and ends what takes too long.
 */
#ifndef SLURMHOOKS_DELIVERY_H
#define SLURMHOOKS_DELIVERY_H

#include <stdint.h>

#include "jobcomp/spool.h"
#include "wire/client.h"

/* Records of one job are delivered one after the other, by the thread whose number is the remainder of its job id. */
#define SLURMHOOKS_LANES 8

struct slurmhooks_delivery;

/* Start the threads. RET NULL with errno: memory or threads are short. */
struct slurmhooks_delivery *slurmhooks_delivery_start(struct slurmhooks_client *client, struct slurmhooks_spool *spool,
                                                      const char *folder);

/* Say that there is a new record of a job. */
void slurmhooks_delivery_ring(struct slurmhooks_delivery *delivery, uint32_t job_id);

/* End the threads; a delivery that runs is broken off, and begins again with the next process. Interrupts the client.
 */
void slurmhooks_delivery_stop(struct slurmhooks_delivery *delivery);

#endif
