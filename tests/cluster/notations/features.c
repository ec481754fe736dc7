// SPDX-License-Identifier: GPL-2.0-or-later
/* Read each line of standard input as features of nodes, as slurmctld does when it validates a job, and print how many
 * nodes it finds, or "refused". Names that begin with "k" are changeable features. */
#include "src/slurmctld/job_scheduler.c"

extern bool node_features_g_changeable_feature(char *feature)
{
    return feature[0] == 'k';
}

extern bool node_features_g_user_update(uid_t uid)
{
    return true;
}

static int add(void *item, void *sum)
{
    *(uint64_t *)sum += ((job_feature_t *)item)->count;
    return 0;
}

int main(void)
{
    static char line[65536];

    slurm_conf.sched_params = xstrdup("ignore_prefer_validation"); /* all names are those of features */
    slurm_conf.last_update = 1;
    while (fgets(line, sizeof(line), stdin)) {
        __typeof__(*((job_record_t *)0)->details) details = {.prefer = xstrdup(line)};
        job_record_t job = {.details = &details};
        uint64_t sum = 0;

        details.prefer[strcspn(line, "\n")] = '\0';
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
        int rc = build_feature_list(&job, true, false);
#else
        int rc = build_feature_list(&job, true);
#endif
        if (!rc && details.prefer_list)
            list_for_each(details.prefer_list, add, &sum);
        if (rc)
            printf("refused\n");
        else
            printf("%llu\n", (unsigned long long)sum);
        xfree(details.prefer);
        FREE_NULL_LIST(details.prefer_list);
    }
    return 0;
}
