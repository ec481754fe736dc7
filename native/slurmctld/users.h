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

#include <stdbool.h>
#include <stdint.h>

/* IN identity: the identity_t of the request; NULL: ask the name service */
char *slurmhooks_user_name(void *identity, uint32_t user_id);

/*
 * RET a fact that depends on the associations of a user; NULL if there are none, or no accounting.
 *
 * IN fact: FACT_DEFAULT_ACCOUNT;
 *    FACT_DEFAULT_QOS, FACT_ASSOC_COMMENT (since 23.02), FACT_ASSOC_QOS (all that may be used, separated by commas): of
 *    an association;
 *    FACT_CHARGED_ACCOUNT, FACT_CHOSEN_QOS: of a request, which names no QOS, as in _job_create()
 * IN account: NULL for the user's default account; partition: may be NULL
 */
char *slurmhooks_accounting_fact(uint32_t fact, uint32_t user_id, char *account, char *partition);

/* RET the partition of a request that names none: as in _get_job_parts() of job_mgr.c. IN reservation: may be NULL */
char *slurmhooks_default_partition(char *reservation);

/*
 * IN as_slurm  answer as Slurm does to Lua: 0 if there is no such QOS, unless it enforces QOS
 * RET the priority, -1 if there is no such QOS
 */
int64_t slurmhooks_qos_priority(char *name, bool as_slurm);

/* RET a text of Slurm, which is not freed */
const char *slurmhooks_cluster_name(void);

#endif
