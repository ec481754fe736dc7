/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up users, accounts and QOS in slurmctld, as job_submit/lua does.
 *
 * Each function takes the locks of the association manager, which come after slurmctld's own (src/common/assoc_mgr.h),
 * and copies its result, since records may be freed when the locks are released. The caller frees texts with free();
 * they are NULL if slurmctld does not have them.
 */
#ifndef SLURMHOOKS_USERS_H
#define SLURMHOOKS_USERS_H

#include <stdint.h>

/* IN identity: the identity_t of the request; NULL: ask the name service */
char *slurmhooks_user_name(void *identity, uint32_t user_id);

char *slurmhooks_default_account(uint32_t user_id);

/* RET the partition of a request that names none: as in _get_job_parts() of job_mgr.c. IN reservation: may be NULL */
char *slurmhooks_default_partition(char *reservation);

/* RET the account that is charged, as in _job_create(); NULL if there is no association, or no accounting */
char *slurmhooks_charged_account(uint32_t user_id, char *account, char *partition);

/*
 * RET the QOS of a request that names none, as in _job_create() and assoc_mgr_get_default_qos_info().
 * IN account: NULL for the user's default account; partition: that of the job
 */
char *slurmhooks_chosen_qos(uint32_t user_id, char *account, char *partition);

/* RET the default QOS that an association names. IN account: NULL for the user's default one; partition: may be NULL */
char *slurmhooks_default_qos(uint32_t user_id, char *account, char *partition);

/* RET the comment of an association. Before 23.02 associations have no comments. */
char *slurmhooks_assoc_comment(uint32_t user_id, char *account, char *partition);

/* RET the names of all QOS that an association may use, separated by commas */
char *slurmhooks_assoc_qos(uint32_t user_id, char *account, char *partition);

/* RET the priority, -1 if there is no such QOS */
int64_t slurmhooks_qos_priority(char *name);

/* RET a text of Slurm, which is not freed */
const char *slurmhooks_cluster_name(void);

#endif
