/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/users.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "slurm/slurm.h"
#include "src/common/slurm_xlator.h"
#include "src/common/assoc_mgr.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/uid.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/slurmctld.h"

#include "protocol.h"
#include "slurmctld/weak.h"

static char *duplicate(const char *text)
{
    return text ? strdup(text) : NULL;
}

char *slurmhooks_user_name(void *identity, uint32_t user_id)
{
    char *found, *copy;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    if (identity && ((identity_t *)identity)->pw_name)
        return duplicate(((identity_t *)identity)->pw_name);
#else
    (void)identity;
#endif
    found = uid_to_string_or_null(user_id);
    copy = duplicate(found);
    xfree(found);
    return copy;
}

/* The functions below up to read_fact() need the locks that slurmhooks_accounting_fact() takes. */

/* RET the association of a user; NULL if there is none, or no accounting */
static slurmdb_assoc_rec_t *find_assoc(uint32_t user_id, char *account, char *partition)
{
    slurmdb_user_rec_t user = {.uid = user_id};
    slurmdb_assoc_rec_t wanted = {.uid = user_id, .partition = partition, .acct = account};
    slurmdb_assoc_rec_t *found = NULL;

    if (!assoc_mgr_assoc_list || !assoc_mgr_user_list)
        return NULL;
    if (!wanted.acct && assoc_mgr_fill_in_user(acct_db_conn, &user, accounting_enforce, NULL, true) != SLURM_ERROR)
        wanted.acct = user.default_acct;
    if (!wanted.acct)
        return NULL;
    if (assoc_mgr_fill_in_assoc(acct_db_conn, &wanted, accounting_enforce, &found, true) == SLURM_ERROR)
        return NULL;
    return found;
}

/* RET a QOS by its id, or by its name, or NULL */
static slurmdb_qos_rec_t *find_qos(uint32_t id, char *name)
{
    slurmdb_qos_rec_t wanted = {.id = id, .name = name};
    slurmdb_qos_rec_t *found = NULL;

    if (!assoc_mgr_qos_list)
        return NULL;
    if (assoc_mgr_fill_in_qos(acct_db_conn, &wanted, accounting_enforce, &found, true) == SLURM_ERROR)
        return NULL;
    return found;
}

static char *default_account(uint32_t user_id)
{
    slurmdb_user_rec_t user = {.uid = user_id};

    if (!assoc_mgr_user_list ||
        assoc_mgr_fill_in_user(acct_db_conn, &user, accounting_enforce, NULL, true) == SLURM_ERROR)
        return NULL;
    return duplicate(user.default_acct);
}

/*
 * RET the association of a job, as in _job_create() of job_mgr.c: where associations are not enforced, an account that
 * the user does not have is replaced by the default one.
 */
static slurmdb_assoc_rec_t *find_charged(uint32_t user_id, char *account, char *partition)
{
    slurmdb_assoc_rec_t *assoc = find_assoc(user_id, account, partition);

    if (!assoc && account && slurm_with_slurmdbd() && !(accounting_enforce & ACCOUNTING_ENFORCE_ASSOCS))
        assoc = find_assoc(user_id, NULL, partition);
    return assoc;
}

/* RET the QOS of a request that names none, as in _job_create() and assoc_mgr_get_default_qos_info() */
static char *chosen_qos(slurmdb_assoc_rec_t *assoc)
{
    slurmdb_qos_rec_t wanted = {0}, *found = NULL;

    if (!assoc_mgr_qos_list)
        return NULL;
    assoc_mgr_get_default_qos_info(assoc, &wanted);
    if (assoc_mgr_fill_in_qos(acct_db_conn, &wanted, accounting_enforce, &found, true) == SLURM_ERROR || !found)
        return NULL;
    return duplicate(found->name);
}

static char *default_qos(slurmdb_assoc_rec_t *assoc)
{
    slurmdb_qos_rec_t *qos = assoc && assoc->def_qos_id ? find_qos(assoc->def_qos_id, NULL) : NULL;

    return qos ? duplicate(qos->name) : NULL;
}

static int join_qos(void *item, void *argument)
{
    char **names = argument;
    slurmdb_qos_rec_t *qos = find_qos((uint32_t)strtoul(item, NULL, 10), NULL);

    if (qos && qos->name)
        xstrfmtcat(*names, "%s%s", *names ? "," : "", qos->name);
    return 0;
}

static char *all_qos(slurmdb_assoc_rec_t *assoc)
{
    char *names = NULL, *copy;

    if (assoc && assoc->qos_list)
        list_for_each(assoc->qos_list, join_qos, &names);
    copy = duplicate(names);
    xfree(names);
    return copy;
}

static char *comment_of(slurmdb_assoc_rec_t *assoc)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
    return assoc ? duplicate(assoc->comment) : NULL;
#else
    (void)assoc;
    return NULL;
#endif
}

static char *read_fact(uint32_t fact, uint32_t user_id, char *account, char *partition)
{
    slurmdb_assoc_rec_t *charged;

    switch (fact) {
    case FACT_DEFAULT_ACCOUNT: return default_account(user_id);
    case FACT_DEFAULT_QOS: return default_qos(find_assoc(user_id, account, partition));
    case FACT_ASSOC_COMMENT: return comment_of(find_assoc(user_id, account, partition));
    case FACT_ASSOC_QOS: return all_qos(find_assoc(user_id, account, partition));
    case FACT_CHOSEN_QOS: return chosen_qos(find_charged(user_id, account, partition));
    case FACT_CHARGED_ACCOUNT:
        charged = find_charged(user_id, account, partition);
        return charged ? duplicate(charged->acct) : NULL;
    default: return NULL;
    }
}

char *slurmhooks_accounting_fact(uint32_t fact, uint32_t user_id, char *account, char *partition)
{
    assoc_mgr_lock_t locks = {.assoc = READ_LOCK, .qos = READ_LOCK, .user = READ_LOCK};
    char *text;

    assoc_mgr_lock(&locks);
    text = read_fact(fact, user_id, account, partition);
    assoc_mgr_unlock(&locks);
    return text;
}

int64_t slurmhooks_qos_priority(char *name, bool as_slurm)
{
    assoc_mgr_lock_t locks = {.qos = READ_LOCK};
    slurmdb_qos_rec_t *qos;
    int64_t priority = -1;

    assoc_mgr_lock(&locks);
    if ((qos = find_qos(0, name)))
        priority = qos->priority;
    else if (as_slurm && !(accounting_enforce & ACCOUNTING_ENFORCE_QOS))
        priority = 0; /* as assoc_mgr_fill_in_qos() */
    assoc_mgr_unlock(&locks);
    return priority;
}

char *slurmhooks_default_partition(char *reservation)
{
    slurmctld_resv_t *found = reservation && reservation[0] ? find_resv_name(reservation) : NULL;
    part_record_t *partition = found && found->part_ptr ? found->part_ptr : default_part_loc;

    return partition ? duplicate(partition->name) : NULL;
}

const char *slurmhooks_cluster_name(void)
{
    return slurm_conf.cluster_name;
}
