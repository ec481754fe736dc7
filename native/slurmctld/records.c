/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks: while slurmctld calls job_submit(), it holds read locks on configuration, jobs, nodes and partitions
 * (job_submit_g_submit() in src/interfaces/job_submit.c asserts that); while it calls job_modify(), those on jobs and
 * nodes are write locks (_slurm_rpc_update_job() in src/slurmctld/proc_req.c). So jobs, nodes, partitions and
 * reservations do not change during a call. For plugins that are called without these locks
 * slurmhooks_answer_with_locks() takes them, for each question. QOS and associations have the locks of the association
 * manager, which come after slurmctld's (src/common/assoc_mgr.h). They are held for one question: records may be added
 * or removed between two pages. Licenses have a mutex that is static in src/slurmctld/licenses.c;
 * get_all_license_info() takes it.
 */
#include "slurmctld/records.h"

#include "config.h"
#include "slurm/slurm.h"
#include "src/common/slurm_xlator.h"
#include "src/common/assoc_mgr.h"
#include "src/common/node_conf.h"
#include "src/common/slurm_protocol_pack.h"
#include "src/common/slurmdb_defs.h"
#include "src/slurmctld/licenses.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/slurmctld.h"
#undef _GNU_SOURCE /* a header of Slurm defines it with another value */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#include "src/interfaces/gres.h"
#else
#include "src/common/gres.h"
#endif

#include "slurmctld/rows.h"
#include "slurmctld/weak.h"

/* slurmhooks/fields/reservation.py has the same values. */
_Static_assert(RESV_CTLD_FULL_NODE == 0x4 && RESV_CTLD_NODE_FLAGS_SET == 0x8, "flags of reservations");

typedef __typeof__(job_list) slurm_list;

/* Without list_for_each(), which locks the list: the row of a QOS reads other QOS of the same list. */
static void walk_list(slurm_list list, slurmhooks_visit *visit, void *argument)
{
    void *record;

    if (!list)
        return;
    __typeof__(list_iterator_create(list)) iterator = list_iterator_create(list);
    while ((record = list_next(iterator)))
        if (visit(record, argument) < 0)
            break;
    list_iterator_destroy(iterator);
}

/* Jobs */

static void *job_with_key(char *name, uint32_t number)
{
    return name ? NULL : find_job_record(number);
}

/* Unlike walk_list(), this also works while this thread walks through the list. Nothing that reads a job does so. */
static void walk_jobs(slurmhooks_visit *visit, void *argument)
{
    if (job_list)
        list_for_each_ro(job_list, visit, argument);
}

/*
 * Slurm moves the iterators of a list when records come or go (_list_node_create() and _list_node_destroy() in
 * src/common/list.c), and frees them with the list. This list lives until slurmctld ends, or takes control.
 */
static void *jobs(void)
{
    return job_list;
}

static void *begin_jobs(void *list)
{
    return list_iterator_create(list);
}

static void *next_job(void *iterator)
{
    return list_next(iterator);
}

static void end_jobs(void *iterator)
{
    list_iterator_destroy(iterator);
}

/* The tasks of an array that have not started have one record. Slurm's own limits count them like this, too. */
static uint32_t waiting_tasks(const void *record)
{
    const job_record_t *job = record;
    return job->array_recs && job->array_recs->task_cnt ? job->array_recs->task_cnt : 1;
}

/* Partitions */

static void *partition_with_key(char *name, uint32_t number)
{
    (void)number;
    return name ? find_part_record(name) : NULL;
}

static void walk_partitions(slurmhooks_visit *visit, void *argument)
{
    walk_list(part_list, visit, argument);
}

/* RET whether a user may submit to a partition: the rule of part_list in job_submit/lua. */
static bool may_use(const void *record, const struct slurmhooks_event *event)
{
    const part_record_t *part = record;

    if (event->unasked)
        return true;
    if (event->owner == 0)
        return !(part->flags & PART_FLAG_NO_ROOT);
    if ((part->flags & PART_FLAG_ROOT_ONLY) && event->uid != 0)
        return false;
    if (!part->allow_uids)
        return true;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
    if (!part->allow_uids_cnt)
        return true;
    for (int i = 0; i < part->allow_uids_cnt; i++)
#else
    for (int i = 0; part->allow_uids[i]; i++)
#endif
        if (part->allow_uids[i] == event->owner)
            return true;
    return false;
}

/* Reservations */

static void walk_reservations(slurmhooks_visit *visit, void *argument)
{
    walk_list(resv_list, visit, argument);
}

/* Nodes */

static void *node_with_key(char *name, uint32_t number)
{
    (void)number;
    return name ? find_node_record2(name) : NULL;
}

static void walk_nodes(slurmhooks_visit *visit, void *argument)
{
    node_record_t *node;

    for (int i = 0; (node = next_node(&i)); i++)
        if (visit(node, argument) < 0)
            return;
}

#define NEEDS(type, member) \
    (needs & SLURMHOOKS_ADDED(offsetof(struct type, member), sizeof(((struct type *)0)->record)))

static bool in_partition(const void *set, const void *record)
{
    const part_record_t *part = set;
    const node_record_t *node = record;

    return part->node_bitmap && bit_test(part->node_bitmap, node->index);
}

static int node_row(void *record, uint64_t needs, slurmhooks_visit *visit, void *argument)
{
    node_record_t *node = record;
    struct slurmhooks_node row = {
        .record = *node,
        /* As in _pack_node() of src/slurmctld/node_mgr.c, for scontrol. */
        .gres = node->gres ? node->gres : node->config_ptr->gres,
        .gres_used = NEEDS(slurmhooks_node, gres_used) ? gres_get_node_used(node->gres_list) : NULL,
        .partitions = NEEDS(slurmhooks_node, partitions) ? xstrdup("") : NULL,
    };

    for (int i = 0; row.partitions && i < node->part_cnt; i++)
        xstrfmtcat(row.partitions, "%s%s", i ? "," : "", ((part_record_t *)node->part_pptr[i])->name);
    int rc = visit(&row, argument);
    xfree(row.gres_used);
    xfree(row.partitions);
    return rc;
}

/* Licenses */

/* RET what slurmctld sends to scontrol, freed with slurm_free_license_info_msg(); NULL if it cannot be read */
static license_info_msg_t *all_licenses(void)
{
    slurm_msg_t message;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
    buf_t *buffer = get_all_license_info(SLURM_PROTOCOL_VERSION);
#else
    char *data;
    int size;
    get_all_license_info(&data, &size, 0, SLURM_PROTOCOL_VERSION);
    buf_t *buffer = create_buf(data, size);
#endif
    set_buf_offset(buffer, 0);
    slurm_msg_t_init(&message);
    message.msg_type = RESPONSE_LICENSE_INFO;
    message.protocol_version = SLURM_PROTOCOL_VERSION;
    int rc = unpack_msg(&message, buffer);
    free_buf(buffer);
    return rc == SLURM_SUCCESS ? message.data : NULL;
}

static void walk_licenses(slurmhooks_visit *visit, void *argument)
{
    license_info_msg_t *licenses = all_licenses();

    for (uint32_t i = 0; licenses && i < licenses->num_lic; i++)
        if (visit(&licenses->lic_array[i], argument) < 0)
            break;
    slurm_free_license_info_msg(licenses);
}

/* QOS */

static void walk_qos(slurmhooks_visit *visit, void *argument)
{
    walk_list(assoc_mgr_qos_list, visit, argument);
}

static char *qos_names(bitstr_t *ids)
{
    return get_qos_complete_str_bitstr(assoc_mgr_qos_list, ids);
}

static char *tres_limits(char *limits)
{
    return slurmdb_make_tres_string_from_simple(limits, assoc_mgr_tres_list, NO_VAL, CONVERT_NUM_UNIT_EXACT, 0, NULL);
}

static char *tres_counts(uint64_t *counts)
{
    return assoc_mgr_make_tres_str_from_array(counts, TRES_STR_CONVERT_UNITS, true);
}

#define BY_NAME(name) .name = tres_limits(record->name),
#define FREE(name) xfree(row.name);

static int qos_row(void *visited, uint64_t needs, slurmhooks_visit *visit, void *argument)
{
    slurmdb_qos_rec_t *record = visited;
    struct slurmhooks_qos row = {
        .record = *record, .preempt = qos_names(record->preempt_bitstr), SLURMHOOKS_QOS_TRES(BY_NAME)};

    (void)needs;
    if (record->usage) {
        row.grp_used_tres = tres_counts(record->usage->grp_used_tres);
        row.usage_raw = (double)record->usage->usage_raw;
    }
    int rc = visit(&row, argument);
    SLURMHOOKS_QOS_TRES(FREE)
    xfree(row.grp_used_tres);
    xfree(row.preempt);
    return rc;
}

/* Associations */

static void *association_with_key(char *name, uint32_t number)
{
    slurmdb_assoc_rec_t wanted = {.id = number}, *found = NULL;

    if (!name && number && assoc_mgr_assoc_list)
        assoc_mgr_fill_in_assoc(acct_db_conn, &wanted, accounting_enforce, &found, true);
    return found;
}

static void walk_associations(slurmhooks_visit *visit, void *argument)
{
    walk_list(assoc_mgr_assoc_list, visit, argument);
}

static char *qos_name(uint32_t id)
{
    return id && assoc_mgr_qos_list ? slurmdb_qos_str(assoc_mgr_qos_list, id) : NULL;
}

static int association_row(void *visited, uint64_t needs, slurmhooks_visit *visit, void *argument)
{
    slurmdb_assoc_rec_t *record = visited;
    struct slurmhooks_association row = {
        .record = *record,
        .default_qos = qos_name(record->def_qos_id),
        /* slurmctld checks jobs against valid_qos; qos_list is what sacctmgr was given. */
        .qos = qos_names(record->usage ? record->usage->valid_qos : NULL),
        SLURMHOOKS_ASSOCIATION_TRES(BY_NAME)};

    (void)needs;
    if (record->usage) {
        row.grp_used_tres = tres_counts(record->usage->grp_used_tres);
        row.usage_efctv = (double)record->usage->usage_efctv;
        row.usage_norm = (double)record->usage->usage_norm;
        row.usage_raw = (double)record->usage->usage_raw;
    }
    int rc = visit(&row, argument);
    SLURMHOOKS_ASSOCIATION_TRES(FREE)
    xfree(row.grp_used_tres);
    xfree(row.qos);
    return rc;
}

/* All tables. A new one needs a row here, and one in STRUCTS of native/generate/tables.py. */
static const struct slurmhooks_records all[] = {
    {
        .table = "record",
        .key = "job_id",
        .size = sizeof(job_record_t),
        .find = job_with_key,
        .walk = walk_jobs,
        .jobs = waiting_tasks,
        .list = jobs,
        .begin = begin_jobs,
        .next = next_job,
        .end = end_jobs,
        .moves = true,
    },
    {
        .table = "partition",
        .key = "name",
        .size = sizeof(part_record_t),
        .find = partition_with_key,
        .walk = walk_partitions,
        .visible = may_use,
    },
    {.table = "reservation", .key = "name", .size = sizeof(slurmctld_resv_t), .walk = walk_reservations},
    {
        .table = "node",
        .key = "name",
        .size = sizeof(node_record_t),
        .find = node_with_key,
        .walk = walk_nodes,
        .row = node_row,
        .sets = "partitions",
        .set = partition_with_key,
        .in_set = in_partition,
    },
    {.table = "license", .key = "name", .size = sizeof(slurm_license_info_t), .walk = walk_licenses},
    {
        .table = "qos",
        .key = "name",
        .size = sizeof(slurmdb_qos_rec_t),
        .walk = walk_qos,
        .row = qos_row,
        .accounting = true,
    },
    {
        .table = "association",
        .key = "id",
        .size = sizeof(slurmdb_assoc_rec_t),
        .find = association_with_key,
        .walk = walk_associations,
        .row = association_row,
        .moves = true,
        .accounting = true,
    },
};

const struct slurmhooks_records *slurmhooks_records(const char *table)
{
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (!xstrcmp(all[i].table, table))
            return &all[i];
    return NULL;
}

static assoc_mgr_lock_t locks(void)
{
    return (assoc_mgr_lock_t){.assoc = READ_LOCK, .qos = READ_LOCK, .tres = READ_LOCK, .user = READ_LOCK};
}

void slurmhooks_records_lock(const struct slurmhooks_records *records)
{
    assoc_mgr_lock_t wanted = locks();

    if (records->accounting)
        assoc_mgr_lock(&wanted);
}

void slurmhooks_records_unlock(const struct slurmhooks_records *records)
{
    assoc_mgr_lock_t held = locks();

    if (records->accounting)
        assoc_mgr_unlock(&held);
}
