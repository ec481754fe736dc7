// SPDX-License-Identifier: GPL-2.0-or-later
/* Submit a held job for each line of standard input, which is the text of a field, and print what slurmctld makes of
 * it: the id of the job, what runs at once, its tasks, and its dependency; or "refused". */
#include <dlfcn.h>
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define JOB(answer) ((answer)->step_id)
#else
#define JOB(answer) ((answer)->job_id)
#endif

static char *environment[] = {"PATH=/usr/bin:/bin", NULL};

static const char *text(const char *value)
{
    return value ? value : "";
}

static void submit(const char *field, char *value)
{
    job_desc_msg_t job;
    submit_response_msg_t *answer = NULL;
    job_info_msg_t *info = NULL;
    slurm_init_job_desc_msg(&job);
    job.script = "#!/bin/sh\ntrue\n";
    job.environment = environment;
    job.env_size = 1;
    job.user_id = job.group_id = 0;
    job.work_dir = "/";
    job.name = "reader";
    job.priority = 0;
    if (!strcmp(field, "arrays"))
        job.array_inx = value;
    else if (!strcmp(field, "licenses"))
        job.licenses = value;
    else if (!strcmp(field, "dependencies"))
        job.dependency = value;
    else
        exit(2);
    if (slurm_submit_batch_job(&job, &answer) || !answer) {
        printf("refused\n");
        return;
    }
    if (slurm_load_job(&info, JOB(answer), SHOW_ALL | SHOW_DETAIL))
        exit(3);
    slurm_job_info_t *made = info->job_array;
    printf("%u\t%u\t%s\t%s\n", made->array_job_id, made->array_max_tasks, text(made->array_task_str),
           text(made->dependency));
    slurm_free_job_info_msg(info);
    slurm_kill_job(JOB(answer), 9, 0);
    slurm_free_submit_response_response_msg(answer);
}

int main(int argc, char **argv)
{
    static char line[65536];
    void (*init)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "slurm_init");
    setenv("SLURM_BITSTR_LEN", "65536", 1);
    if (init)
        init(NULL);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        submit(argc > 1 ? argv[1] : "", line);
    }
    return 0;
}
