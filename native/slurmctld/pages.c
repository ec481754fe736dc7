/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/pages.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slurmctld/cursors.h"
#include "slurmctld/groups.h"
#include "slurmctld/records.h"
#include "slurmctld/selection.h"

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
    struct slurmhooks_selection selection;
    struct slurmhooks_groups groups;
    uint32_t start;       /* the index of its first record */
    uint32_t index;       /* the index of the record after the current one */
    uint32_t jobs;        /* as how many jobs the present record counts */
    bool skipping;        /* its first record has not been reached */
    bool single;          /* the answer has at most one row */
    bool counting;        /* rows are counted instead of sent */
    bool alike;           /* all rows are alike: none of their members is asked for */
    uint64_t tally[2];    /* of rows that are alike: how many, and as how many jobs they count */
    bool endless;         /* all rows are in one answer, so that no page follows */
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

/* A slurmhooks_visit: add a row to the page if it meets the conditions. */
static int add_row(void *row, void *argument)
{
    struct page *page = argument;
    const struct slurmhooks_selection *selection = &page->selection;
    struct slurmhooks_buffer *result = &page->question->result;
    size_t start = result->size;

    if (selection->needs && !slurmhooks_selection_takes(selection, row, true))
        return 0;
    if (page->alike) {
        page->tally[0]++;
        page->tally[1] += page->jobs;
        return 0;
    }
    slurmhooks_put_some(result, selection->table, row, selection->members, selection->member_count);
    if (page->counting)
        slurmhooks_group(&page->groups, result, start, page->jobs);
    return page->single ? -1 : 0;
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

    if (result->failed)
        return true;
    return result->size > PAGE_SIZE || (!page->single && is_late(page));
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
    const struct slurmhooks_records *records = page->records;
    uint64_t needs = page->selection.needs;

    if (records->moves && !page->endless)
        page->end.keys[page->end.count_read % KEYS] = slurmhooks_load(page->selection.key, record);
    page->end.count_read++;
    if (records->visible && !records->visible(record, page->question->event))
        return 0;
    if (!slurmhooks_selection_takes(&page->selection, record, false))
        return 0;
    page->jobs = page->counting && records->jobs ? records->jobs(record) : 1;
    return records->row && needs ? records->row(record, needs, add_row, page) : add_row(record, page);
}

/* A slurmhooks_visit: read a record of a page that has all rows. */
static int visit_each(void *record, void *argument)
{
    struct page *page = argument;

    return page->question->result.failed ? -1 : read_record(record, page);
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
    const struct slurmhooks_member *key = page->selection.key;
    uint32_t most = page->index < RECENT ? page->index : RECENT, by = 0;

    if (!page->records->moves || !page->before.count_read)
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

    question->from = index;
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
    memset(page, 0, offsetof(struct page, recent));
    page->question = question;
    if (!slurmhooks_selection_open(&page->selection, question->header.table))
        return false;
    page->records = page->selection.records;
    return true;
}

/* Add the row of a key: of a name, or without one, of a number. RET false if the key is of the other kind. */
static bool add_by_key(struct page *page, char *name, uint32_t number)
{
    if (name && !*name) /* no record has an empty name, and Slurm would log an error */
        return true;
    page->selection.count = 0;
    if (!slurmhooks_selection_key(&page->selection, name, number))
        return false;
    if (page->records->find) {
        void *found = page->records->find(name, number);
        if (found)
            read_record(found, page);
    } else {
        page->index = 0;
        page->records->walk(visit_record, page);
    }
    return true;
}

bool slurmhooks_answer_row(struct slurmhooks_question *question)
{
    size_t position = sizeof(question->header);
    char *name = NULL;
    struct page page;

    if (!open_page(&page, question))
        return false;
    if (!slurmhooks_next_text(question, &position, &name) || (!name && position > sizeof(question->header)))
        return false;
    page.single = true;
    slurmhooks_selection_close(&page.selection);
    slurmhooks_records_lock(page.records);
    bool valid = add_by_key(&page, name, question->header.number);
    slurmhooks_records_unlock(page.records);
    return valid;
}

/* RET whether an item is a key. OUT name, or number */
static bool read_key(const struct slurmhooks_item *item, bool is_text, char **name, uint32_t *number)
{
    uint64_t value = 0;

    *name = is_text && slurmhooks_is_text(item) ? (char *)item->value : NULL;
    if (is_text)
        return *name;
    if (!slurmhooks_number(item, &value) || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    return true;
}

bool slurmhooks_answer_rows(struct slurmhooks_question *question)
{
    struct slurmhooks_item item;
    size_t position = sizeof(question->header);
    struct page page;
    bool valid = true, more;
    uint32_t answered = 0, number = 0;
    char *name;

    if (!open_page(&page, question))
        return false;
    page.single = true;
    question->result.longest = SLURMHOOKS_WHOLE;
    more = slurmhooks_next(question->data, question->size, &position, &item);
    if (more && item.tag == SLURMHOOKS_MEMBERS) {
        valid = slurmhooks_selection_read(&page.selection, &item);
        more = slurmhooks_next(question->data, question->size, &position, &item);
    }
    slurmhooks_selection_close(&page.selection);
    page.until = nanoseconds() + PAGE_TIME;
    slurmhooks_records_lock(page.records);
    while (valid && more) {
        bool full = question->result.size > PAGE_SIZE || question->result.failed;
        if (answered && (full || (!(answered % RECORDS_A_LOOK) && nanoseconds() >= page.until))) {
            question->next = answered;
            break;
        }
        valid = read_key(&item, page.selection.key->kind == SLURMHOOKS_TEXT, &name, &number) &&
                add_by_key(&page, name, number);
        answered++;
        more = slurmhooks_next(question->data, question->size, &position, &item);
    }
    slurmhooks_records_unlock(page.records);
    return valid;
}

static bool answer_page(struct slurmhooks_question *question, bool counting)
{
    struct slurmhooks_item item;
    size_t position = sizeof(question->header);
    struct page page;

    if (!open_page(&page, question))
        return false;
    page.counting = counting;
    question->result.longest = counting ? SLURMHOOKS_WHOLE : SLURMHOOKS_SHORT;
    page.start = question->header.number;
    page.skipping = page.start > 0;
    while (slurmhooks_next(question->data, question->size, &position, &item)) {
        if (item.tag == SLURMHOOKS_PAGE_END && item.size == sizeof(page.before))
            memcpy(&page.before, item.value, sizeof(page.before));
        else if (item.tag == SLURMHOOKS_PAGE_END && item.size == sizeof(page.cursor))
            memcpy(&page.cursor, item.value, sizeof(page.cursor));
        else if (!slurmhooks_selection_read(&page.selection, &item))
            return false;
    }
    slurmhooks_selection_close(&page.selection);
    slurmhooks_records_lock(page.records);
    page.alike = counting && page.selection.members && !page.selection.member_count;
    if (page.records->next && !question->event->in_walk && !(counting && question->event->steady)) {
        add_from_cursor(&page);
    } else if (counting) {
        /* Rows that the next page may repeat can be left out by those who read them, but not by those who count. */
        page.endless = true;
        page.records->walk(visit_each, &page);
    } else {
        page.records->walk(visit_record, &page);
        if (page.skipping && page.records->moves) /* there are fewer records than before the page */
            begin_rows(&page);
    }
    slurmhooks_records_unlock(page.records);
    free(page.groups.places);
    if (page.tally[0]) {
        slurmhooks_put(&question->result, page.selection.table, NULL, 0);
        slurmhooks_put(&question->result, SLURMHOOKS_TALLY, page.tally, sizeof(page.tally));
    }
    return true;
}

bool slurmhooks_answer_page(struct slurmhooks_question *question)
{
    return answer_page(question, false);
}

bool slurmhooks_answer_count(struct slurmhooks_question *question)
{
    return answer_page(question, true);
}
