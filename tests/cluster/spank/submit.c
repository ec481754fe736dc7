/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Submit a batch job as slurmrestd and other clients of libslurm do: without options and the environment of sbatch.
 *
 * submit COMMENT SCRIPT - prints the job id, or "0 ERROR"
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define JOB_ID step_id.job_id
#else
#define JOB_ID job_id
#endif

int main(int argc, char **argv)
{
    char *environment[] = {"PATH=/usr/bin:/bin", "HOME=/tmp", NULL};
    submit_response_msg_t *answer = NULL;
    job_desc_msg_t job;

    if (argc != 3)
        return 2;
    slurm_init(NULL);
    slurm_init_job_desc_msg(&job);
    job.name = "client";
    job.comment = argv[1];
    job.script = argv[2];
    job.work_dir = "/tmp";
    job.std_out = "/dev/null";
    job.user_id = getuid();
    job.group_id = getgid();
    job.min_nodes = job.max_nodes = 1;
    job.environment = environment;
    job.env_size = 2;
    if (slurm_submit_batch_job(&job, &answer)) {
        printf("0 %s\n", slurm_strerror(errno));
        return 1;
    }
    printf("%u\n", (unsigned)answer->JOB_ID);
    return 0;
}
