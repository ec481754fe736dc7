/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client of libslurm that sends any job description: describe [update=JOB] NAME=VALUE...
 *
 * The values are not checked. It submits a batch job and prints its number, or changes JOB; Slurm's error goes to
 * stderr.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define JOB(answer) ((answer)->step_id.job_id)
#else
#define JOB(answer) ((answer)->job_id)
#endif
#define MEMBER(name) {#name, offsetof(job_desc_msg_t, name), sizeof(((job_desc_msg_t *)0)->name), 0}
#define TEXT(name) {#name, offsetof(job_desc_msg_t, name), sizeof(char *), 1}

/* clang-format off */
static const struct {
    const char *name;
    size_t offset, size;
    int is_text;
} members[] = {
    MEMBER(min_nodes), MEMBER(max_nodes), MEMBER(num_tasks), MEMBER(min_cpus), MEMBER(max_cpus),
    MEMBER(cpus_per_task), MEMBER(pn_min_cpus), MEMBER(pn_min_memory), MEMBER(ntasks_per_node),
    MEMBER(ntasks_per_socket), MEMBER(ntasks_per_core), MEMBER(ntasks_per_board), MEMBER(ntasks_per_tres),
    MEMBER(sockets_per_node), MEMBER(sockets_per_board), MEMBER(cores_per_socket), MEMBER(threads_per_core),
    MEMBER(boards_per_node), MEMBER(core_spec), MEMBER(shared), MEMBER(overcommit), MEMBER(contiguous),
    MEMBER(time_limit), MEMBER(time_min), MEMBER(begin_time), MEMBER(deadline), MEMBER(end_time), MEMBER(priority),
    MEMBER(nice), MEMBER(bitflags), MEMBER(reboot), MEMBER(task_dist), MEMBER(plane_size), MEMBER(mail_type),
    MEMBER(user_id), MEMBER(req_switch), MEMBER(requeue), MEMBER(alloc_resp_port),
    TEXT(account), TEXT(qos), TEXT(partition), TEXT(reservation), TEXT(name), TEXT(features), TEXT(prefer),
    TEXT(cluster_features), TEXT(batch_features), TEXT(licenses), TEXT(req_nodes), TEXT(exc_nodes), TEXT(array_inx),
    TEXT(tres_per_job), TEXT(tres_per_node), TEXT(tres_per_socket), TEXT(tres_per_task), TEXT(cpus_per_tres),
    TEXT(mem_per_tres), TEXT(dependency), TEXT(mail_user), TEXT(work_dir), TEXT(wckey), TEXT(burst_buffer),
    TEXT(comment), TEXT(admin_comment), TEXT(network), TEXT(job_id_str), TEXT(script),
};
/* clang-format on */

static void set(job_desc_msg_t *job, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : 0;

    for (size_t i = 0; equals && i < sizeof(members) / sizeof(*members); i++) {
        char *at = (char *)job + members[i].offset;
        unsigned long long number = strtoull(equals + 1, NULL, 0);

        if (strlen(members[i].name) != length || strncmp(members[i].name, word, length))
            continue;
        if (members[i].is_text)
            *(char **)at = strdup(equals + 1);
        else /* least significant byte first */
            memcpy(at, &number, members[i].size);
        return;
    }
    fprintf(stderr, "describe: %s is not a member\n", word);
    exit(2);
}

static int update(int argc, char **argv)
{
    job_array_resp_msg_t *tasks = NULL;
    job_desc_msg_t job;

    slurm_init_job_desc_msg(&job);
    job.job_id_str = strchr(argv[1], '=') + 1;
    for (int i = 2; i < argc; i++)
        set(&job, argv[i]);
    if (slurm_update_job2(&job, &tasks)) {
        fprintf(stderr, "describe: %s\n", slurm_strerror(errno));
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char *environment[] = {"PATH=/bin:/usr/bin", NULL};
    submit_response_msg_t *answer = NULL;
    job_desc_msg_t job;

    slurm_init(NULL);
    if (argc > 1 && !strncmp(argv[1], "update=", strlen("update=")))
        return update(argc, argv);
    slurm_init_job_desc_msg(&job);
    job.user_id = getuid();
    job.group_id = getgid();
    job.work_dir = "/tmp";
    job.name = "client";
    job.environment = environment;
    job.env_size = 1;
    job.std_out = "/dev/null";
    job.script = "#!/bin/sh\nexit 0\n";
    for (int i = 1; i < argc; i++)
        set(&job, argv[i]);
    if (slurm_submit_batch_job(&job, &answer)) {
        fprintf(stderr, "describe: %s\n", slurm_strerror(errno));
        return 1;
    }
    printf("%u\n", JOB(answer));
    return 0;
}
