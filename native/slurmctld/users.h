/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What slurmctld knows of users, accounts and QOS, as job_submit/lua asks for it.
 *
 * The association manager's lock is taken here, after slurmctld's own as its headers ask, and every
 * text is copied while it is held: the records may be gone as soon as it is let go. Texts that are
 * returned are freed with free(), and are NULL if slurmctld has none.
 */
#ifndef SLURMHOOKS_USERS_H
#define SLURMHOOKS_USERS_H

#include <stdint.h>

/* IN identity: of the request (identity_t); NULL if it has none: the name service is asked then */
char *slurmhooks_user_name(void *identity, uint32_t user_id);

char *slurmhooks_default_account(uint32_t user_id);

/* Of an association. IN account: NULL for the user's default account; partition: may be NULL */
char *slurmhooks_default_qos(uint32_t user_id, char *account, char *partition);

/* The comment of an association; there are none before 23.02. */
char *slurmhooks_assoc_comment(uint32_t user_id, char *account, char *partition);

/* RET the names of all QOS that an association may use, with commas */
char *slurmhooks_assoc_qos(uint32_t user_id, char *account, char *partition);

/* RET the priority, -1 if there is no such QOS */
int64_t slurmhooks_qos_priority(char *name);

/* RET Slurm's own text: not to be freed */
const char *slurmhooks_cluster_name(void);

#endif
