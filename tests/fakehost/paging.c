/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads simulated jobs page by page, as handlers do, while jobs come and go between two pages.
 *
 *     paging COUNT CHANGES SEED walk|iterate|forget|count|recount|steady|total
 *
 * COUNT: number of jobs. CHANGES: maximum number of jobs that go between two pages, and of those that come. walk: the
 * list has no iterators. forget: so many others begin to read after some pages that the iterator of this reader goes.
 * count: jobs are only counted, by the user in their paths; recount: the same, while others read; steady: the same, in
 * a call that holds slurmctld's locks; total: how many have the number 3, in such a call. It prints how many pages
 * there were, how many jobs were there all the time and were not read, how many rows were repeated, and the processor
 * time of the slowest page in microseconds, the median page, and all pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slurmctld/pages.h"
#include "slurmctld/queries.h"
#include "slurmctld/records.h"

#define TEXTS 12
#define MOST_JOBS (1 << 20)
#define MOST_PAGES (1 << 16)

/* About as many members and bytes as a real job has. */
struct job {
    uint32_t job_id;
    uint64_t numbers[8];
    char *texts[TEXTS];
    char others[1200]; /* what is not packed, and keeps jobs apart in memory */
};

struct node {
    struct job *job;
    struct node *next;
};

#define DIRECT {SLURMHOOKS_DIRECT, SLURMHOOKS_DIRECT}
#define NUMBER(i) {"number" #i, SLURMHOOKS_U64, false, DIRECT, offsetof(struct job, numbers[i]), 0}
#define TEXT(i) {"text" #i, SLURMHOOKS_TEXT, false, DIRECT, offsetof(struct job, texts[i]), 0}
static const struct slurmhooks_member members[] = {
    {"job_id", SLURMHOOKS_U32, false, DIRECT, offsetof(struct job, job_id), 0},
    NUMBER(0),
    NUMBER(1),
    NUMBER(2),
    NUMBER(3),
    NUMBER(4),
    NUMBER(5),
    NUMBER(6),
    NUMBER(7),
    TEXT(0),
    TEXT(1),
    TEXT(2),
    TEXT(3),
    TEXT(4),
    TEXT(5),
    TEXT(6),
    TEXT(7),
    TEXT(8),
    TEXT(9),
    TEXT(10),
    TEXT(11),
};
const struct slurmhooks_tables slurmhooks_tables = {1, 1, {{"record", sizeof(members) / sizeof(*members), members}}};

/* As in Slurm's lists: an iterator that stands before a job that goes stands before the next one. */
struct iterator {
    struct node **at;
    struct iterator *next;
};

static struct node *jobs, **end = &jobs;
static struct iterator *iterators;
static unsigned char seen[MOST_JOBS], gone[MOST_JOBS];
static uint32_t job_count, last_id;

static void add_job(void)
{
    struct node *node = calloc(1, sizeof(*node));
    struct job *job = calloc(1, sizeof(*job));

    if (!node || !job || ++last_id >= MOST_JOBS)
        exit(2);
    job->job_id = last_id;
    job->numbers[0] = last_id % 7;
    for (int i = 0; i < TEXTS; i++)
        if (asprintf(&job->texts[i], "/home/user%u/project/%d/a/rather/long/path/of/job", last_id % 100, i) < 0)
            exit(2);
    node->job = job;
    *end = node;
    end = &node->next;
    job_count++;
}

/* Let a job go. IN place: its index. */
static void remove_job(uint32_t place)
{
    struct node **at = &jobs;

    while (*at && place--)
        at = &(*at)->next;
    struct node *node = *at;
    if (!node)
        return;
    *at = node->next;
    if (end == &node->next)
        end = at;
    for (struct iterator *each = iterators; each; each = each->next)
        if (each->at == &node->next)
            each->at = at;
    gone[node->job->job_id] = 1;
    for (int i = 0; i < TEXTS; i++)
        free(node->job->texts[i]);
    free(node->job);
    free(node);
    job_count--;
}

static void walk(slurmhooks_visit *visit, void *argument)
{
    for (struct node *node = jobs; node; node = node->next)
        if (visit(node->job, argument) < 0)
            break;
}

static void *list(void)
{
    return &jobs;
}

static void *begin(void *whole)
{
    struct iterator *iterator = calloc(1, sizeof(*iterator));

    if (!iterator)
        exit(2);
    *iterator = (struct iterator){whole, iterators};
    return iterators = iterator;
}

static void *next_job(void *iterator)
{
    struct iterator *in = iterator;
    struct node *node = *in->at;

    if (node)
        in->at = &node->next;
    return node ? node->job : NULL;
}

static void end_walk(void *iterator)
{
    struct iterator **at = &iterators;

    while (*at != iterator)
        at = &(*at)->next;
    *at = (*at)->next;
    free(iterator);
}

static struct slurmhooks_records records = {.table = "record",
                                            .key = "job_id",
                                            .size = sizeof(struct job),
                                            .walk = walk,
                                            .list = list,
                                            .begin = begin,
                                            .next = next_job,
                                            .end = end_walk,
                                            .moves = true};

const struct slurmhooks_records *slurmhooks_records(const char *table)
{
    (void)table;
    return &records;
}

void slurmhooks_records_lock(const struct slurmhooks_records *table)
{
    (void)table;
}

void slurmhooks_records_unlock(const struct slurmhooks_records *table)
{
    (void)table;
}

/*
 * RET where the next page begins; 0: this was the last one. IN/OUT end: an item with the end of the page before, and
 * of this one. OUT repeated: incremented for each row seen before
 */
static uint32_t read_page(uint32_t start, struct slurmhooks_buffer *end, unsigned *repeated, double *microseconds)
{
    struct slurmhooks_event event = {0};
    struct slurmhooks_question question = {.event = &event, .data = end->data, .size = end->size};
    size_t position = sizeof(struct slurmhooks_header);
    struct slurmhooks_item item;
    struct timespec before, after;
    uint64_t id;

    question.header.number = start;
    slurmhooks_begin(&question.result, SLURMHOOKS_RESULT);
    question.result.longest = SLURMHOOKS_WHOLE;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    if (!slurmhooks_answer_page(&question))
        exit(2);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    *microseconds = (double)(after.tv_sec - before.tv_sec) * 1e6 + (double)(after.tv_nsec - before.tv_nsec) / 1e3;
    free(end->data);
    slurmhooks_begin(end, SLURMHOOKS_QUERY);
    while (slurmhooks_next(question.result.data, question.result.size, &position, &item)) {
        if (item.tag == SLURMHOOKS_PAGE_END) {
            slurmhooks_put(end, item.tag, item.value, item.size);
            continue;
        }
        memcpy(&id, item.value, sizeof(id));
        *repeated += seen[id];
        seen[id] = 1;
    }
    free(question.result.data);
    return question.next;
}

/* Let as many others read a page as cursors are kept. */
static void read_by_others(void)
{
    for (int i = 0; i < 64; i++) {
        struct slurmhooks_buffer none;
        unsigned repeated = 0;
        double microseconds;
        static unsigned char before[MOST_JOBS];

        memcpy(before, seen, sizeof(before));
        slurmhooks_begin(&none, SLURMHOOKS_QUERY);
        read_page(0, &none, &repeated, &microseconds);
        memcpy(seen, before, sizeof(before));
        free(none.data);
    }
}

/* Begin a question about the numbers of jobs. IN total: of those with the number 3; else of each user in their paths */
static void begin_count(struct slurmhooks_buffer *question, bool total)
{
    static const uint32_t member = 9; /* the first text */
    static const uint64_t three[] = {3, UINT64_MAX};

    slurmhooks_begin(question, SLURMHOOKS_QUERY);
    slurmhooks_put(question, SLURMHOOKS_MEMBERS, &member, total ? 0 : sizeof(member));
    if (total)
        slurmhooks_put(question, 1, three, sizeof(three));
}

/* Count jobs. OUT counts: by the user of the path. RET the number of pages. */
static unsigned count_jobs(uint64_t counts[100], const char *how)
{
    bool forgets = !strcmp(how, "recount"), total = !strcmp(how, "total");
    struct slurmhooks_event event = {.steady = total || !strcmp(how, "steady")};
    struct slurmhooks_buffer end;
    struct slurmhooks_item item;
    unsigned pages = 0;
    uint32_t start = 0;

    begin_count(&end, total);
    do {
        struct slurmhooks_question question = {.event = &event, .data = end.data, .size = end.size};
        size_t position = sizeof(struct slurmhooks_header);
        unsigned user = 0;

        question.header.number = start;
        slurmhooks_begin(&question.result, SLURMHOOKS_RESULT);
        if (!slurmhooks_answer_count(&question))
            exit(2);
        if (question.from != start)
            memset(counts, 0, 100 * sizeof(*counts));
        free(end.data);
        begin_count(&end, total);
        while (slurmhooks_next(question.result.data, question.result.size, &position, &item)) {
            uint64_t tally[2];

            if (item.tag == SLURMHOOKS_PAGE_END) {
                slurmhooks_put(&end, item.tag, item.value, item.size);
            } else if (item.tag == SLURMHOOKS_TALLY) {
                memcpy(tally, item.value, sizeof(tally));
                counts[user] += tally[0];
            } else if (item.size > sizeof(uint64_t)) {
                user = (unsigned)atoi(item.value + sizeof(uint64_t) + strlen("/home/user"));
            }
        }
        free(question.result.data);
        start = question.next;
        pages++;
        if (forgets && (pages == 2 || pages == 5))
            read_by_others();
    } while (start);
    free(end.data);
    return pages;
}

static int compare(const void *first, const void *second)
{
    double difference = *(const double *)first - *(const double *)second;

    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    static double times[MOST_PAGES];
    struct slurmhooks_buffer last;
    unsigned pages = 0, repeated = 0, lost = 0;
    uint32_t next = 0;
    double all = 0;

    if (argc != 5)
        return 2;
    if (!strcmp(argv[4], "walk"))
        records.next = NULL;
    bool forgets = !strcmp(argv[4], "forget");
    unsigned count = (unsigned)atoi(argv[1]), changes = (unsigned)atoi(argv[2]);
    srandom((unsigned)atoi(argv[3]));
    slurmhooks_begin(&last, SLURMHOOKS_QUERY);
    for (unsigned i = 0; i < count; i++)
        add_job();
    if (strstr("count recount steady total", argv[4])) {
        uint64_t counts[100] = {0}, wrong = 0, sum = 0;

        pages = count_jobs(counts, argv[4]);
        for (unsigned i = 0; i < 100; i++) {
            wrong += counts[i] != count / 100 + (i && i <= count % 100);
            sum += counts[i];
        }
        printf("{\"wrong\": %u, \"sum\": %u, \"pages\": %u}\n", (unsigned)wrong, (unsigned)sum, pages);
        return 0;
    }
    uint32_t first_new = last_id;
    do {
        if (pages == MOST_PAGES)
            return 2;
        next = read_page(next, &last, &repeated, &times[pages]);
        all += times[pages++];
        if (forgets && (pages == 2 || pages == 5))
            read_by_others();
        if (!changes)
            continue;
        for (long i = random() % (changes + 1); i > 0 && job_count; i--)
            remove_job((uint32_t)(random() % (random() % 2 ? job_count : job_count / 100 + 1)));
        for (long i = random() % (changes + 1); i > 0; i--)
            add_job();
    } while (next);
    for (uint32_t id = 1; id <= first_new; id++)
        lost += !gone[id] && !seen[id];
    qsort(times, pages, sizeof(*times), compare);
    printf("{\"pages\": %u, \"lost\": %u, \"repeated\": %u, \"slowest\": %.0f, \"median\": %.0f, \"all\": %.0f}\n",
           pages, lost, repeated, times[pages - 1], times[pages / 2], all);
    return 0;
}
