/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What slurmctld knows of users, accounts and QOS, as job_submit/lua asks for it.
 *
 * The association manager's lock is taken here, after slurmctld's own as its headers ask, and every
 * text is copied while it is held: the records may be gone as soon as it is let go. Texts that are
 * returned are freed with free().
 */
#ifndef SLURMHOOKS_USERS_H
#define SLURMHOOKS_USERS_H

static char *slurmhooks_copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* IN identity - of the request, NULL if it has none: the name service is asked then */
static char *slurmhooks_user_name(void *identity, uint32_t user_id)
{
    char *found, *copy;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    if (identity && ((identity_t *)identity)->pw_name)
        return slurmhooks_copy(((identity_t *)identity)->pw_name);
#else
    (void)identity;
#endif
    found = uid_to_string_or_null(user_id);
    copy = slurmhooks_copy(found);
    xfree(found);
    return copy;
}

static void slurmhooks_lock_assoc(assoc_mgr_lock_t *locks)
{
    *locks = (assoc_mgr_lock_t){.assoc = READ_LOCK, .qos = READ_LOCK, .user = READ_LOCK};
    assoc_mgr_lock(locks);
}

/* Find the user's association in the locked records. RET NULL if there is none, or no accounting.
 */
static slurmdb_assoc_rec_t *slurmhooks_assoc(uint32_t user_id, char *account, char *partition)
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

static slurmdb_qos_rec_t *slurmhooks_qos(uint32_t id, char *name)
{
    slurmdb_qos_rec_t wanted = {.id = id, .name = name};
    slurmdb_qos_rec_t *found = NULL;

    if (!assoc_mgr_qos_list)
        return NULL;
    if (assoc_mgr_fill_in_qos(acct_db_conn, &wanted, accounting_enforce, &found, true) == SLURM_ERROR)
        return NULL;
    return found;
}

static char *slurmhooks_default_account(uint32_t user_id)
{
    slurmdb_user_rec_t user = {.uid = user_id};
    assoc_mgr_lock_t locks;
    char *name = NULL;

    slurmhooks_lock_assoc(&locks);
    if (assoc_mgr_user_list &&
        assoc_mgr_fill_in_user(acct_db_conn, &user, accounting_enforce, NULL, true) != SLURM_ERROR)
        name = slurmhooks_copy(user.default_acct);
    assoc_mgr_unlock(&locks);
    return name;
}

static char *slurmhooks_default_qos(uint32_t user_id, char *account, char *partition)
{
    assoc_mgr_lock_t locks;
    slurmdb_assoc_rec_t *assoc;
    slurmdb_qos_rec_t *qos;
    char *name = NULL;

    slurmhooks_lock_assoc(&locks);
    assoc = slurmhooks_assoc(user_id, account, partition);
    if (assoc && assoc->def_qos_id && (qos = slurmhooks_qos(assoc->def_qos_id, NULL)))
        name = slurmhooks_copy(qos->name);
    assoc_mgr_unlock(&locks);
    return name;
}

/* Associations have comments since 23.02. */
static char *slurmhooks_assoc_comment(uint32_t user_id, char *account, char *partition)
{
    char *comment = NULL;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
    assoc_mgr_lock_t locks;
    slurmdb_assoc_rec_t *assoc;

    slurmhooks_lock_assoc(&locks);
    if ((assoc = slurmhooks_assoc(user_id, account, partition)))
        comment = slurmhooks_copy(assoc->comment);
    assoc_mgr_unlock(&locks);
#else
    (void)user_id, (void)account, (void)partition;
#endif
    return comment;
}

static int slurmhooks_join_qos(void *item, void *argument)
{
    char **names = argument;
    slurmdb_qos_rec_t *qos = slurmhooks_qos(atoi(item), NULL);

    if (qos && qos->name)
        xstrfmtcat(*names, "%s%s", *names ? "," : "", qos->name);
    return 0;
}

/* RET the names of all QOS that the association may use, with commas */
static char *slurmhooks_assoc_qos(uint32_t user_id, char *account, char *partition)
{
    assoc_mgr_lock_t locks;
    slurmdb_assoc_rec_t *assoc;
    char *names = NULL, *copy;

    slurmhooks_lock_assoc(&locks);
    if ((assoc = slurmhooks_assoc(user_id, account, partition)) && assoc->qos_list)
        list_for_each(assoc->qos_list, slurmhooks_join_qos, &names);
    assoc_mgr_unlock(&locks);
    copy = slurmhooks_copy(names);
    xfree(names);
    return copy;
}

/* RET the priority, -1 if there is no such QOS */
static int64_t slurmhooks_qos_priority(char *name)
{
    assoc_mgr_lock_t locks;
    slurmdb_qos_rec_t *qos;
    int64_t priority = -1;

    slurmhooks_lock_assoc(&locks);
    if ((qos = slurmhooks_qos(0, name)))
        priority = qos->priority;
    assoc_mgr_unlock(&locks);
    return priority;
}

static const char *slurmhooks_cluster_name(void)
{
    return slurm_conf.cluster_name;
}

#endif
