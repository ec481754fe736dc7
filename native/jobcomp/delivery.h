/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that let workers deliver the records in the spool.
 *
 * Workers decide which record to deliver, and when to try again (slurmhooks/jobcomp/delivery.py). Each thread requests
 * one delivery after the other, and aborts a delivery that takes too long.
 */
#ifndef SLURMHOOKS_DELIVERY_H
#define SLURMHOOKS_DELIVERY_H

#include <stdint.h>

#include "jobcomp/spool.h"
#include "client/client.h"

/* The number of threads. The thread with the number job id % LANES delivers all records of a job, in order. */
#define SLURMHOOKS_LANES 8

struct slurmhooks_delivery;

/* Start the threads. RET NULL with errno if there is too little memory or no thread can be started. */
struct slurmhooks_delivery *slurmhooks_delivery_start(struct slurmhooks_client *client, struct slurmhooks_spool *spool,
                                                      const char *folder);

/* Wake the thread of a job: the spool has a new record. */
void slurmhooks_delivery_ring(struct slurmhooks_delivery *delivery, uint32_t job_id);

/* Stop the threads, and interrupt the client. A running delivery is aborted; the next slurmctld repeats it. */
void slurmhooks_delivery_stop(struct slurmhooks_delivery *delivery);

#endif
