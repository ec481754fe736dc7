/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Submit numbered batch jobs, and cancel those that slurmctld accepts.
 *
 * client FIRST STEP END FILE - FILE gets a line for each job: NUMBER ERROR JOBID TEXT
 *
 * ERROR and JOBID are 0 for a job that was refused or accepted, respectively; TEXT is what libslurm printed.
 */
#define _GNU_SOURCE
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Each job whose number is a multiple of this stays, held, until compare.py has compared it. */
#define KEEP 1000

static char *environment[] = {"PATH=/usr/bin:/bin", "HOME=/tmp", NULL};

/* OUT text: what was printed since the last call, on one line. */
static void printed(int output, char *text, size_t size)
{
    ssize_t length = pread(output, text, size - 1, 0);

    text[length > 0 ? length : 0] = '\0';
    for (char *byte = text; *byte; byte++)
        if (*byte == '\n')
            *byte = ' ';
    if (ftruncate(output, 0) || lseek(output, 0, SEEK_SET))
        abort();
}

static void cancel(uint32_t job_id)
{
    /* slurmctld is being replaced from time to time. */
    for (int attempt = 0; slurm_kill_job(job_id, SIGKILL, 0) && attempt < 20; attempt++) {
        if (errno == ESLURM_INVALID_JOB_ID || errno == ESLURM_ALREADY_DONE)
            return;
        usleep(100000);
    }
}

int main(int argc, char **argv)
{
    job_desc_msg_t job;
    char name[32], text[200];

    if (argc != 5)
        return 2;
    long step = atol(argv[2]), end = atol(argv[3]);
    FILE *file = fopen(argv[4], "a");
    int output = memfd_create("stderr", MFD_CLOEXEC);
    if (!file || output < 0 || dup2(output, 2) < 0)
        return 1;
    setvbuf(file, NULL, _IOLBF, 1 << 16);
    slurm_init(NULL);
    slurm_init_job_desc_msg(&job);
    job.name = name;
    job.script = "#!/bin/sh\ntrue\n";
    job.work_dir = "/tmp";
    job.std_out = "/dev/null";
    job.user_id = getuid();
    job.group_id = getgid();
    job.min_nodes = job.max_nodes = 1;
    job.priority = 0; /* held: nothing runs */
    job.environment = environment;
    job.env_size = 2;
    for (long number = atol(argv[1]); number < end; number += step) {
        submit_response_msg_t *answer = NULL;
        snprintf(name, sizeof(name), "%ld", number);
        int rc = slurm_submit_batch_job(&job, &answer);
        int error = rc ? errno : 0;
        uint32_t job_id = answer && !rc ? answer->job_id : 0;
        slurm_free_submit_response_response_msg(answer);
        printed(output, text, sizeof(text));
        fprintf(file, "%ld %d %u %s\n", number, error, (unsigned)job_id, text);
        if (job_id && number % KEEP)
            cancel(job_id);
        printed(output, text, sizeof(text));
    }
    return fclose(file) ? 1 : 0;
}
