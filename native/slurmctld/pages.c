/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/pages.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "slurmctld/cursors.h"
#include "slurmctld/records.h"

/* A page ends with the first row that makes it larger than this, in bytes. */
#define PAGE_SIZE ((size_t)256 << 10)
/*
 * Tables without iterators that outlive a page: how many records before the start of a page are kept, to find its start
 * again if others have gone meanwhile.
 */
#define RECENT 1024
/* How many keys of its last records such a page ends with. */
#define KEYS 8
/*
 * A page also ends after this many nanoseconds from its first record on, because slurmctld's read locks are held
 * meanwhile. The clock is read once for so many records, so a page always has that many.
 */
#ifndef PAGE_TIME
#define PAGE_TIME 500000
#endif
#define RECORDS_A_LOOK 16

/* A condition: a member equals a text, or equals a number in the bits of a mask. */
struct condition {
    const struct slurmhooks_member *member;
    uint64_t value, mask;
    const char *text;
};

/*
 * Where a page has ended: an item (SLURMHOOKS_PAGE_END) of the answer, which the question for the next page contains.
 * Workers may make it up, so it chooses nothing but how many of the recent records are repeated. Where iterators
 * outlive a page, the item is the number of a cursor instead.
 */
struct end {
    uint64_t count_read; /* records that were read, whether or not they meet the conditions */
    uint64_t keys[KEYS]; /* of the last ones of these */
};

/* An answer that is being written. */
struct page {
    struct slurmhooks_question *question;
    const struct slurmhooks_records *records;
    struct condition conditions[SLURMHOOKS_MAX_CONDITIONS];
    size_t count;
    uint32_t start;       /* the index of its first record */
    uint32_t index;       /* the index of the record after the current one */
    bool skipping;        /* its first record has not been reached */
    bool single;          /* the answer has at most one row */
    struct end before;    /* the end of the page before this one */
    uint64_t cursor;      /* the number of its cursor, instead; 0: none */
    struct end end;       /* of this page, if records move */
    int64_t until;        /* when the page ends, in nanoseconds of the monotonic clock; 0: not begun */
    void *recent[RECENT]; /* the last records before its start */
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

/* RET the member that is the key of a table, and of this kind; or NULL. */
static const struct slurmhooks_member *key_member(const struct page *page, bool is_text)
{
    const struct slurmhooks_table *table = &slurmhooks_tables.table[page->question->header.table];

    for (uint32_t i = 0; i < table->count; i++)
        if (!strcmp(table->members[i].name, page->records->key) &&
            (table->members[i].kind == SLURMHOOKS_TEXT) == is_text)
            return &table->members[i];
    return NULL;
}

static int64_t nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* RET whether the page has taken as long as it may. */
static bool is_late(struct page *page)
{
    if (!page->until)
        page->until = nanoseconds() + PAGE_TIME;
    return page->end.count_read && !(page->end.count_read % RECORDS_A_LOOK) && nanoseconds() >= page->until;
}

static bool is_full(struct page *page)
{
    const struct slurmhooks_buffer *result = &page->question->result;

    return result->size > PAGE_SIZE || result->failed || (!page->single && is_late(page));
}

/* End the page before a record. IN index: of that record. */
static int end_page(struct page *page, uint32_t index)
{
    page->question->next = index;
    if (page->records->moves)
        slurmhooks_put(&page->question->result, SLURMHOOKS_PAGE_END, &page->end, sizeof(page->end));
    return -1;
}

/* Read a record: add its row to the page if it meets the conditions. RET a negative number if no more is to be read. */
static int read_record(void *record, struct page *page)
{
    const struct slurmhooks_member *key = page->records->moves ? key_member(page, false) : NULL;

    if (key)
        page->end.keys[page->end.count_read % KEYS] = slurmhooks_load(key, record);
    page->end.count_read++;
    if (page->records->visible && !page->records->visible(record, page->question->event))
        return 0;
    if (!meets_all(page, record, false))
        return 0;
    return page->records->row ? page->records->row(record, add_row, page) : add_row(record, page);
}

/* Read a record, or end the page before it. IN index: of the record. */
static int add_record(void *record, struct page *page, uint32_t index)
{
    return is_full(page) ? end_page(page, index) : read_record(record, page);
}

/* RET whether a key is one of the last keys of a page. */
static bool has_key(const struct end *end, uint64_t key)
{
    for (uint32_t i = 0; i < KEYS && i < end->count_read; i++)
        if (end->keys[i] == key)
            return true;
    return false;
}

/*
 * RET by how much the index of the first record of the page has decreased since the page before it has ended, because
 * other records have gone. If all of that page's last records have gone: half a page, so rows may be repeated.
 */
static uint32_t shift(const struct page *page)
{
    const struct slurmhooks_member *key = page->records->moves ? key_member(page, false) : NULL;
    uint32_t most = page->index < RECENT ? page->index : RECENT, by = 0;

    if (!key || !page->before.count_read)
        return 0;
    while (by < most && !has_key(&page->before, slurmhooks_load(key, page->recent[(page->index - 1 - by) % RECENT])))
        by++;
    uint64_t half = page->before.count_read / 2;
    return by < most ? by : half < most ? (uint32_t)half : most;
}

/* Begin the page, with those of the recent records that belong to it. RET as add_record(). */
static int begin_rows(struct page *page)
{
    uint32_t end = page->index;

    page->skipping = false;
    for (uint32_t i = end - shift(page); i < end; i++)
        if (add_record(page->recent[i % RECENT], page, i) < 0)
            return -1;
    return 0;
}

/* A slurmhooks_visit: skip the records before the page, then add records. */
static int visit_record(void *record, void *argument)
{
    struct page *page = argument;

    if (page->index < page->start) {
        page->recent[page->index++ % RECENT] = record;
        return 0;
    }
    if (page->skipping && begin_rows(page) < 0)
        return -1;
    return add_record(record, page, page->index++);
}

/* Add records from where the page before this one has ended, or from the first one if nobody knows that any more. */
static void add_from_cursor(struct page *page)
{
    struct slurmhooks_question *question = page->question;
    struct slurmhooks_cursor cursor = slurmhooks_cursor_take(page->records, page->cursor);
    uint32_t index = page->cursor && cursor.number == page->cursor ? page->start : 0;
    void *record = NULL;

    page->until = nanoseconds() + PAGE_TIME;
    while (cursor.iterator && (record = page->records->next(cursor.iterator))) {
        read_record(record, page);
        index++;
        if (is_full(page))
            break;
    }
    if (!record) {
        slurmhooks_cursor_end(&cursor);
        return;
    }
    uint64_t number = slurmhooks_cursor_keep(&cursor);
    question->next = index;
    slurmhooks_put(&question->result, SLURMHOOKS_PAGE_END, &number, sizeof(number));
}

/* Begin the answer to a question. RET false if the question names no table that has records. */
static bool open_page(struct page *page, struct slurmhooks_question *question)
{
    uint32_t table = question->header.table;

    memset(page, 0, offsetof(struct page, recent));
    page->question = question;
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
    const struct slurmhooks_member *member = key_member(page, name != NULL);

    if (member)
        *condition = (struct condition){member, number, UINT64_MAX, name};
    return member;
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
            add_record(found, &page, 0);
    } else {
        page.records->walk(visit_record, &page);
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
    page.skipping = page.start > 0;
    while (slurmhooks_next(question->data, question->size, &position, &item)) {
        if (item.tag == SLURMHOOKS_PAGE_END && item.size == sizeof(page.before)) {
            memcpy(&page.before, item.value, sizeof(page.before));
            continue;
        }
        if (item.tag == SLURMHOOKS_PAGE_END && item.size == sizeof(page.cursor)) {
            memcpy(&page.cursor, item.value, sizeof(page.cursor));
            continue;
        }
        if (page.count == SLURMHOOKS_MAX_CONDITIONS)
            return false;
        if (!read_condition(&page.conditions[page.count++], question->header.table, &item))
            return false;
    }
    slurmhooks_records_lock(page.records);
    if (page.records->next && !question->event->in_walk) {
        add_from_cursor(&page);
    } else {
        page.records->walk(visit_record, &page);
        if (page.skipping && page.records->moves) /* there are fewer records than before the page */
            begin_rows(&page);
    }
    slurmhooks_records_unlock(page.records);
    return true;
}
