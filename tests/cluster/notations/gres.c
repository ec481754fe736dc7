// SPDX-License-Identifier: GPL-2.0-or-later
/* Read each line of standard input as the GRES of each node, as slurmctld 22.05 does when it validates a job, and print
 * what it finds in one line, "refused" if it refuses the text. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/common/gres.h"
#include "src/common/list.h"
#include "src/common/read_config.h"

static int print(void *item, void *argument)
{
    gres_state_t *state = item;
    gres_job_state_t *job = state->gres_data;

    (void)argument;
    printf("gres/%s|%s|%llu\x1f", state->gres_name ? state->gres_name : "", job->type_name ? job->type_name : "",
           (unsigned long long)job->gres_per_node);
    return 0;
}

int main(void)
{
    static char line[65536];

    slurm_init(NULL);
    if (gres_init())
        return 2;
    while (fgets(line, sizeof(line), stdin)) {
        uint32_t tasks = NO_VAL, min_nodes = 1, max_nodes = NO_VAL;
        uint16_t per_node = NO_VAL16, per_socket = NO_VAL16, sockets = NO_VAL16, cpus = NO_VAL16, per_tres = NO_VAL16;
        List list = NULL;

        line[strcspn(line, "\n")] = '\0';
        if (gres_job_state_validate(NULL, NULL, NULL, line, NULL, NULL, NULL, &tasks, &min_nodes, &max_nodes, &per_node,
                                    &per_socket, &sockets, &cpus, &per_tres, &list))
            printf("refused");
        else if (list)
            list_for_each(list, print, NULL);
        printf("\n");
        FREE_NULL_LIST(list);
    }
    return 0;
}
