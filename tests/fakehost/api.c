/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of libslurm that ask slurmctld. They fail, with the arguments of any release: there is no slurmctld. */
#include <slurm/slurm_errno.h>

#include <stddef.h>

extern int slurm_load_job(void **response);
int slurm_load_job(void **response)
{
    *response = NULL;
    return SLURM_ERROR;
}

extern void slurm_free_job_info_msg(void *message);
void slurm_free_job_info_msg(void *message)
{
    (void)message;
}
