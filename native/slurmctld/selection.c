/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/selection.h"

#include <string.h>

/* RET the bit of a member that rows have besides those of the record; 0: the record has it. */
static uint64_t need(const struct slurmhooks_selection *selection, const struct slurmhooks_member *member)
{
    bool added = member->via[0] == SLURMHOOKS_DIRECT && member->offset >= selection->records->size;

    return added ? SLURMHOOKS_ADDED(member->offset, selection->records->size) : 0;
}

bool slurmhooks_selection_open(struct slurmhooks_selection *selection, uint32_t table)
{
    memset(selection, 0, sizeof(*selection));
    if (table >= slurmhooks_tables.count)
        return false;
    const struct slurmhooks_table *of = &slurmhooks_tables.table[table];
    selection->records = slurmhooks_records(of->name);
    selection->table = table;
    selection->member_count = of->count;
    for (uint32_t i = 0; selection->records && i < of->count && !selection->key; i++)
        if (!strcmp(of->members[i].name, selection->records->key))
            selection->key = &of->members[i];
    return selection->key;
}

static bool read_members(struct slurmhooks_selection *selection, const struct slurmhooks_item *item)
{
    uint32_t most = slurmhooks_tables.table[selection->table].count, count = item->size / sizeof(uint32_t);

    if (selection->members || count > most || item->size % sizeof(uint32_t))
        return false;
    selection->members = (const uint32_t *)item->value; /* items begin at multiples of 8 bytes */
    selection->member_count = count;
    for (uint32_t i = 0; i < count; i++)
        if (selection->members[i] >= most)
            return false;
    return true;
}

bool slurmhooks_selection_read(struct slurmhooks_selection *selection, const struct slurmhooks_item *item)
{
    const struct slurmhooks_table *of = &slurmhooks_tables.table[selection->table];

    if (item->tag == SLURMHOOKS_MEMBERS)
        return read_members(selection, item);
    if (item->tag >= of->count || selection->count == SLURMHOOKS_MAX_CONDITIONS)
        return false;
    struct slurmhooks_condition *condition = &selection->conditions[selection->count++];
    *condition = (struct slurmhooks_condition){.member = &of->members[item->tag]};
    condition->added = need(selection, condition->member) != 0;
    if (condition->member->kind == SLURMHOOKS_TEXTS)
        return false;
    if (condition->member->kind == SLURMHOOKS_TEXT) {
        if (!slurmhooks_is_text(item))
            return false;
        condition->text = item->value;
        const char *sets = selection->records->sets;
        condition->of_set = sets && !strcmp(sets, condition->member->name);
        if (condition->of_set)
            condition->set = *condition->text ? selection->records->set((char *)condition->text, 0) : NULL;
        return true;
    }
    if (item->size != 2 * sizeof(uint64_t))
        return false;
    memcpy(&condition->value, item->value, sizeof(condition->value));
    memcpy(&condition->mask, item->value + sizeof(condition->value), sizeof(condition->mask));
    return true;
}

bool slurmhooks_selection_key(struct slurmhooks_selection *selection, const char *name, uint32_t number)
{
    if ((selection->key->kind == SLURMHOOKS_TEXT) != (name != NULL) || selection->count == SLURMHOOKS_MAX_CONDITIONS)
        return false;
    selection->conditions[selection->count++] =
        (struct slurmhooks_condition){.member = selection->key, .value = number, .mask = UINT64_MAX, .text = name};
    return true;
}

void slurmhooks_selection_close(struct slurmhooks_selection *selection)
{
    const struct slurmhooks_member *all = slurmhooks_tables.table[selection->table].members;

    for (uint32_t i = 0; i < selection->member_count; i++)
        selection->needs |= need(selection, &all[selection->members ? selection->members[i] : i]);
    for (size_t i = 0; i < selection->count; i++)
        if (!selection->conditions[i].of_set)
            selection->needs |= need(selection, selection->conditions[i].member);
}

static bool meets(const struct slurmhooks_condition *condition, const void *object)
{
    if (!condition->text)
        return (slurmhooks_load(condition->member, object) & condition->mask) == condition->value;
    const char *text = slurmhooks_load_text(condition->member, object);
    return text && !strcmp(text, condition->text);
}

bool slurmhooks_selection_takes(const struct slurmhooks_selection *selection, const void *object, bool of_row)
{
    for (size_t i = 0; i < selection->count; i++) {
        const struct slurmhooks_condition *condition = &selection->conditions[i];

        if (condition->of_set) {
            if (!of_row && !(condition->set && selection->records->in_set(condition->set, object)))
                return false;
        } else if (condition->added == of_row && !meets(condition, object)) {
            return false;
        }
    }
    return true;
}
