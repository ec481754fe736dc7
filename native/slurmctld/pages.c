/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/pages.h"

#include <string.h>

#include "slurmctld/records.h"

/* A page ends with the first row that makes it larger than this, in bytes. */
#define PAGE_SIZE ((size_t)256 << 10)
#define MOST_CONDITIONS 8

/* A condition: a member equals a text, or equals a number in the bits of a mask. */
struct condition {
    const struct slurmhooks_member *member;
    uint64_t value, mask;
    const char *text;
};

/* An answer that is being written. */
struct page {
    struct slurmhooks_question *question;
    const struct slurmhooks_records *records;
    struct condition conditions[MOST_CONDITIONS];
    size_t count;
    uint32_t start; /* the index of its first record */
    uint32_t index; /* the index of the record after the current one */
    bool single;    /* the answer has at most one row */
};

bool slurmhooks_next_text(const struct slurmhooks_question *question, size_t *position, char **text)
{
    struct slurmhooks_item item;

    *text = NULL;
    if (*position >= question->size)
        return true;
    if (!slurmhooks_next(question->data, question->size, position, &item) || (item.size && !slurmhooks_is_text(&item)))
        return false;
    if (item.size)
        *text = (char *)item.value;
    return true;
}

static bool meets(const struct condition *condition, const void *object)
{
    if (!condition->text)
        return (slurmhooks_load(condition->member, object) & condition->mask) == condition->value;
    const char *text = slurmhooks_load_text(condition->member, object);
    return text && !strcmp(text, condition->text);
}

/*
 * RET whether an object meets the conditions. IN of_row: whether to check those on members that a row adds, or the
 * others.
 */
static bool meets_all(const struct page *page, const void *object, bool of_row)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct slurmhooks_member *member = page->conditions[i].member;
        bool added = member->via[0] == SLURMHOOKS_DIRECT && member->offset >= page->records->size;
        if (added == of_row && !meets(&page->conditions[i], object))
            return false;
    }
    return true;
}

/* A slurmhooks_visit: add a row to the page if it meets the conditions. */
static int add_row(void *row, void *argument)
{
    struct page *page = argument;

    if (!meets_all(page, row, true))
        return 0;
    slurmhooks_put_struct(&page->question->result, page->question->header.table, row);
    return page->single ? -1 : 0;
}

/* A slurmhooks_visit: add the row of a record to the page, or end the page before that record. */
static int add_record(void *record, void *argument)
{
    struct page *page = argument;
    struct slurmhooks_question *question = page->question;

    if (page->index++ < page->start)
        return 0;
    if (question->result.size > PAGE_SIZE || question->result.failed) {
        question->next = page->index - 1;
        return -1;
    }
    if (page->records->visible && !page->records->visible(record, question->event))
        return 0;
    if (!meets_all(page, record, false))
        return 0;
    return page->records->row ? page->records->row(record, add_row, page) : add_row(record, page);
}

/* Begin the answer to a question. RET false if the question names no table that has records. */
static bool open_page(struct page *page, struct slurmhooks_question *question)
{
    uint32_t table = question->header.table;

    *page = (struct page){.question = question};
    if (table < slurmhooks_tables.count)
        page->records = slurmhooks_records(slurmhooks_tables.table[table].name);
    return page->records != NULL;
}

/*
 * OUT condition: the key equals this name, or if the name is NULL, this number. RET false if the key is of the other
 * kind.
 */
static bool key_is(struct condition *condition, const struct page *page, const char *name, uint32_t number)
{
    const struct slurmhooks_table *table = &slurmhooks_tables.table[page->question->header.table];

    for (uint32_t i = 0; i < table->count; i++) {
        const struct slurmhooks_member *member = &table->members[i];
        if (!strcmp(member->name, page->records->key) && (member->kind == SLURMHOOKS_TEXT) == (name != NULL)) {
            *condition = (struct condition){member, number, UINT64_MAX, name};
            return true;
        }
    }
    return false;
}

bool slurmhooks_answer_row(struct slurmhooks_question *question)
{
    size_t position = sizeof(question->header);
    uint32_t number = question->header.number;
    char *name = NULL;
    struct page page;

    if (!open_page(&page, question))
        return false;
    if (!slurmhooks_next_text(question, &position, &name) || (!name && position > sizeof(question->header)))
        return false;
    if (name && !*name) /* no record has an empty name, and Slurm would log an error */
        return true;
    page.single = true;
    if (!key_is(&page.conditions[page.count++], &page, name, number))
        return false;
    slurmhooks_records_lock(page.records);
    if (page.records->find) {
        void *found = page.records->find(name, number);
        if (found)
            add_record(found, &page);
    } else {
        page.records->walk(add_record, &page);
    }
    slurmhooks_records_unlock(page.records);
    return true;
}

/* Read a condition from an item. RET false if it is invalid. */
static bool read_condition(struct condition *condition, uint32_t table, const struct slurmhooks_item *item)
{
    if (item->tag >= slurmhooks_tables.table[table].count)
        return false;
    *condition = (struct condition){.member = &slurmhooks_tables.table[table].members[item->tag]};
    if (condition->member->kind == SLURMHOOKS_TEXTS)
        return false;
    if (condition->member->kind == SLURMHOOKS_TEXT) {
        condition->text = item->value;
        return slurmhooks_is_text(item);
    }
    if (item->size != 2 * sizeof(uint64_t))
        return false;
    memcpy(&condition->value, item->value, sizeof(condition->value));
    memcpy(&condition->mask, item->value + sizeof(condition->value), sizeof(condition->mask));
    return true;
}

bool slurmhooks_answer_page(struct slurmhooks_question *question)
{
    struct slurmhooks_item item;
    size_t position = sizeof(question->header);
    struct page page;

    if (!open_page(&page, question))
        return false;
    page.start = question->header.number;
    while (slurmhooks_next(question->data, question->size, &position, &item)) {
        if (page.count == MOST_CONDITIONS)
            return false;
        if (!read_condition(&page.conditions[page.count++], question->header.table, &item))
            return false;
    }
    slurmhooks_records_lock(page.records);
    page.records->walk(add_record, &page);
    slurmhooks_records_unlock(page.records);
    return true;
}
