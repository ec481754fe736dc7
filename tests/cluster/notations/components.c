/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client of libslurm that asks for a heterogeneous job without a script, as salloc does, but sends an environment
 * with each component: components ACCOUNT NODES... It prints "allocated", or Slurm's error, which goes to stderr.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define ALLOCATE(components) slurm_allocate_het_job_blocking(components, 30, NULL, -1)
#else
#define ALLOCATE(components) slurm_allocate_het_job_blocking(components, 30, NULL)
#endif

int main(int argc, char **argv)
{
    static char *environment[] = {"PATH=/bin:/usr/bin", NULL};

    slurm_init(NULL);
    void *components = slurm_list_create(NULL);
    for (int i = 2; i < argc; i++) {
        job_desc_msg_t *job = malloc(sizeof(*job));

        slurm_init_job_desc_msg(job);
        job->user_id = getuid();
        job->group_id = getgid();
        job->account = argv[1];
        job->work_dir = "/tmp";
        job->name = "client";
        job->min_nodes = job->max_nodes = (uint32_t)atoi(argv[i]);
        job->num_tasks = job->min_nodes;
        job->environment = environment;
        job->env_size = 1;
        slurm_list_append(components, job);
    }
    if (!ALLOCATE(components)) {
        fprintf(stderr, "components: %s\n", slurm_strerror(errno));
        return 1;
    }
    printf("allocated\n");
    return 0;
}
