/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes sbatch, srun and salloc write their request to a file instead of sending it, for 'slurmhooks try job_submit'.
 *
 * The dynamic linker loads this library before those of the command (LD_PRELOAD), so the command calls the functions
 * here to submit. The command ends there; it cannot reach a daemon before, because it cannot connect to any network.
 * The parameters of these functions are the same in all releases, as far as they are used here.
 */
#include <slurm/slurm.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/wire.h"

/* The variable with the path of the file (slurmhooks/workshop/testing/real_commands.py). */
#define FILE_VARIABLE "SLURMHOOKS_SUBMISSION"
/* The exit code of a command that this library ends, other than at its submission. */
#define FAILED 125
/* Defines a function of Slurm or of the C library, whose type in headers depends on the release. */
#define REPLACES(name) __asm__(name) __attribute__((visibility("default")))

static int file = -1;

static void write_whole(const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(file, data, size);
        if (written < 0)
            _exit(FAILED);
        data += written;
        size -= (size_t)written;
    }
}

/* The first word of the file says that the library is loaded, before the command does anything. */
__attribute__((constructor)) static void start(void)
{
    const char *path = getenv(FILE_VARIABLE), *preload = getenv("LD_PRELOAD");
    const char *others = preload ? strchr(preload, ':') : NULL;

    file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (file < 0)
        _exit(FAILED);
    write_whole(SLURMHOOKS_MAGIC, strlen(SLURMHOOKS_MAGIC));
    /* The request has the environment of the command. */
    unsetenv(FILE_VARIABLE);
    if (others)
        setenv("LD_PRELOAD", others + 1, 1);
    else
        unsetenv("LD_PRELOAD");
}

static void report(const job_desc_msg_t *job_desc)
{
    struct slurmhooks_buffer buffer;

    slurmhooks_begin(&buffer, SLURMHOOKS_REQUEST);
    buffer.longest = SLURMHOOKS_WHOLE;
    slurmhooks_put_struct(&buffer, TABLE_job, job_desc);
    if (!slurmhooks_end(&buffer, 0, 0, 0))
        _exit(FAILED);
    write_whole(buffer.data, buffer.size);
    free(buffer.data);
}

#define SUBMITS(number, name)                                                 \
    _Noreturn void submit_##number(const job_desc_msg_t *job) REPLACES(name); \
    void submit_##number(const job_desc_msg_t *job)                           \
    {                                                                         \
        report(job);                                                          \
        _exit(0);                                                             \
    }
SUBMITS(1, "slurm_submit_batch_job")
SUBMITS(2, "slurm_allocate_resources_blocking")
SUBMITS(3, "slurm_job_will_run")
SUBMITS(4, "slurmdb_get_first_avail_cluster")

/* The same for the components of a heterogeneous job. */
#define SUBMITS_ALL(number, name)                                  \
    _Noreturn void submit_all_##number(void *jobs) REPLACES(name); \
    void submit_all_##number(void *jobs)                           \
    {                                                              \
        void *iterator = slurm_list_iterator_create(jobs);         \
        const job_desc_msg_t *job;                                 \
        while ((job = slurm_list_next(iterator)))                  \
            report(job);                                           \
        _exit(0);                                                  \
    }
SUBMITS_ALL(1, "slurm_submit_batch_het_job")
SUBMITS_ALL(2, "slurm_allocate_het_job_blocking")
SUBMITS_ALL(3, "slurm_het_job_will_run")
SUBMITS_ALL(4, "slurmdb_get_first_het_job_cluster")

int connect_here(int socket, const struct sockaddr *address, socklen_t size) REPLACES("connect");
int connect_here(int socket, const struct sockaddr *address, socklen_t size)
{
    if (address->sa_family == AF_UNIX)
        return (int)syscall(SYS_connect, socket, address, size);
    fprintf(stderr, "the command would connect to a network (address family %d) before it submits\n",
            address->sa_family);
    _exit(FAILED);
}
