/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Submit the same batch job many times from one process.
 *
 * submit COUNT NAME [ACCOUNT] - prints how many slurmctld has accepted and refused; jobs called exclusive ask for
 * whole nodes
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *environment[] = {"PATH=/usr/bin:/bin", "HOME=/tmp", NULL};

static int submit(job_desc_msg_t *job)
{
    submit_response_msg_t *answer = NULL;
    int rc = slurm_submit_batch_job(job, &answer);

    slurm_free_submit_response_response_msg(answer);
    return rc;
}

int main(int argc, char **argv)
{
    job_desc_msg_t job;
    long taken = 0, refused = 0;

    if (argc != 3 && argc != 4)
        return 2;
    /* libslurm prints the messages of handlers to this stream. */
    if (!freopen("/dev/null", "w", stderr))
        return 1;
    slurm_init(NULL);
    slurm_init_job_desc_msg(&job);
    job.name = argv[2];
    job.account = argc > 3 ? argv[3] : NULL;
    job.script = "#!/bin/sh\ntrue\n";
    job.work_dir = "/tmp";
    job.std_out = "/dev/null";
    job.user_id = getuid();
    job.group_id = getgid();
    job.min_nodes = job.max_nodes = 1;
    if (strcmp(job.name, "exclusive") == 0)
        job.shared = 0; /* as --exclusive sets it */
    job.priority = 0;   /* held: nothing runs */
    job.environment = environment;
    job.env_size = 2;
    for (long left = atol(argv[1]); left > 0; left--)
        if (submit(&job))
            refused++;
        else
            taken++;
    printf("%ld taken, %ld refused\n", taken, refused);
    return 0;
}
