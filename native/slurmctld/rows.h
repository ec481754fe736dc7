/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of tables that have more members than Slurm's struct: a copy of that struct, and the members that records.c
 * adds.
 *
 * native/generate/tables.py reads these structs. An added member hides a member of the same name in the copy.
 * Conditions for members of the copy are checked before a row is built. Include Slurm's headers before this one.
 */
#ifndef SLURMHOOKS_ROWS_H
#define SLURMHOOKS_ROWS_H

struct slurmhooks_node {
    node_record_t record;
    char *gres; /* not to be freed */
    char *gres_used;
    char *partitions; /* names, separated by commas */
};

/* Limits, which the association manager stores as "id=count,...". Rows have them as "name=count,...", like sacctmgr. */
#define SLURMHOOKS_QOS_TRES(EACH) \
    EACH(grp_tres)                \
    EACH(grp_tres_mins)           \
    EACH(grp_tres_run_mins)       \
    EACH(max_tres_mins_pj)        \
    EACH(max_tres_pa)             \
    EACH(max_tres_pj)             \
    EACH(max_tres_pn)             \
    EACH(max_tres_pu)             \
    EACH(max_tres_run_mins_pa)    \
    EACH(max_tres_run_mins_pu)    \
    EACH(min_tres_pj)
#define SLURMHOOKS_ASSOCIATION_TRES(EACH) \
    EACH(grp_tres)                        \
    EACH(grp_tres_mins)                   \
    EACH(grp_tres_run_mins)               \
    EACH(max_tres_mins_pj)                \
    EACH(max_tres_pj)                     \
    EACH(max_tres_pn)
#define SLURMHOOKS_TRES_MEMBER(name) char *name;

struct slurmhooks_qos {
    slurmdb_qos_rec_t record;
    SLURMHOOKS_QOS_TRES(SLURMHOOKS_TRES_MEMBER)
    char *grp_used_tres;
    char *preempt; /* names, separated by commas */
    double usage_raw;
};

struct slurmhooks_association {
    slurmdb_assoc_rec_t record;
    SLURMHOOKS_ASSOCIATION_TRES(SLURMHOOKS_TRES_MEMBER)
    char *default_qos; /* not to be freed */
    char *grp_used_tres;
    char *qos; /* names, separated by commas */
    double usage_efctv;
    double usage_norm;
    double usage_raw;
};

#endif
