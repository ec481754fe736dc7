/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_THREAD_H
#define SLURMHOOKS_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* The stack of a thread that runs none of Slurm's code, in bytes. */
#define SMALL_STACK ((size_t)256 * 1024)

/* Start a thread that receives no signals: slurmctld's own threads handle them. IN stack: its size in bytes; 0: usual.
 * RET 0 or an errno. */
int start_thread(pthread_t *thread, size_t stack, void *(*run)(void *), void *argument);

/* Prepare a condition whose waits end by the monotonic clock. */
void start_condition(pthread_cond_t *condition);

#endif
