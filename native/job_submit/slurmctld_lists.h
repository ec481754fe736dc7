/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding slurmctld's records: slurmctld holds read locks on them while our plugin runs. */
#ifndef SLURMHOOKS_SLURMCTLD_LISTS_H
#define SLURMHOOKS_SLURMCTLD_LISTS_H

/* As slurmhooks/job_submit/fields.py has them. */
_Static_assert(RESV_CTLD_FULL_NODE == 0x4 && RESV_CTLD_NODE_FLAGS_SET == 0x8, "flags of reservations");

struct slurmhooks_fill {
    void **items;
    int size;
    int count;
    uint32_t user_id;
    uint32_t submit_uid;
};

/* The rule of job_submit/lua's part_list: which partitions a user may name. */
static bool slurmhooks_may_use(const part_record_t *part, uint32_t user_id, uint32_t submit_uid)
{
    if (user_id == 0)
        return !(part->flags & PART_FLAG_NO_ROOT);
    if ((part->flags & PART_FLAG_ROOT_ONLY) && submit_uid != 0)
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
        if (part->allow_uids[i] == user_id)
            return true;
    return false;
}

static void slurmhooks_add(struct slurmhooks_fill *fill, void *item)
{
    if (fill->count < fill->size)
        fill->items[fill->count] = item;
    fill->count++;
}

static int slurmhooks_add_partition(void *item, void *argument)
{
    struct slurmhooks_fill *fill = argument;

    if (slurmhooks_may_use(item, fill->user_id, fill->submit_uid))
        slurmhooks_add(fill, item);
    return 0;
}

static int slurmhooks_add_any(void *item, void *argument)
{
    slurmhooks_add(argument, item);
    return 0;
}

/* Each of the three: the records into items, at most size of them. RET how many there are. */
static int slurmhooks_partitions(void **items, int size, uint32_t user_id, uint32_t submit_uid)
{
    struct slurmhooks_fill fill = {items, size, 0, user_id, submit_uid};

    list_for_each(part_list, slurmhooks_add_partition, &fill);
    return fill.count;
}

static int slurmhooks_jobs(void **items, int size)
{
    struct slurmhooks_fill fill = {items, size, 0, 0, 0};

    list_for_each(job_list, slurmhooks_add_any, &fill);
    return fill.count;
}

static int slurmhooks_reservations(void **items, int size)
{
    struct slurmhooks_fill fill = {items, size, 0, 0, 0};

    list_for_each(resv_list, slurmhooks_add_any, &fill);
    return fill.count;
}

static void *slurmhooks_find_partition(char *name, uint32_t user_id, uint32_t submit_uid)
{
    part_record_t *part = find_part_record(name);

    return part && slurmhooks_may_use(part, user_id, submit_uid) ? part : NULL;
}

static void *slurmhooks_find_job(uint32_t job_id)
{
    return find_job_record(job_id);
}

static void *slurmhooks_find_reservation(char *name)
{
    return find_resv_name(name);
}

/* The batch script of a job, from slurmctld's state folder. RET to be freed, NULL if it has none.
 */
static char *slurmhooks_job_script(void *job)
{
    buf_t *buffer = get_job_script(job);
    char *text = NULL;

    if (buffer && buffer->head && buffer->head[0])
        text = strdup(buffer->head);
    FREE_NULL_BUFFER(buffer);
    return text;
}

#endif
