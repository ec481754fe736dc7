/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmctld/cursors.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/random.h>

/*
 * More than workers, observers and rules that read a table at the same time. Readers that were killed leave theirs,
 * and each costs slurmctld a few nanoseconds for every record that goes.
 */
#define MOST_KEPT 64

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct slurmhooks_cursor kept[MOST_KEPT];
static uint64_t last_age;

void slurmhooks_cursor_end(struct slurmhooks_cursor *cursor)
{
    /* A list that slurmctld frees takes its iterators along. */
    if (cursor->iterator && cursor->list == cursor->records->list())
        cursor->records->end(cursor->iterator);
    *cursor = (struct slurmhooks_cursor){0};
}

struct slurmhooks_cursor slurmhooks_cursor_take(const struct slurmhooks_records *records, uint64_t number)
{
    struct slurmhooks_cursor cursor = {0};

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; number && i < MOST_KEPT; i++)
        if (kept[i].number == number && kept[i].records == records) {
            cursor = kept[i];
            kept[i] = (struct slurmhooks_cursor){0};
        }
    pthread_mutex_unlock(&mutex);
    void *list = records->list();
    if (cursor.iterator && cursor.list == list)
        return cursor;
    return (struct slurmhooks_cursor){.list = list, .iterator = list ? records->begin(list) : NULL, .records = records};
}

uint64_t slurmhooks_cursor_keep(struct slurmhooks_cursor *cursor)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0 || !number) {
        slurmhooks_cursor_end(cursor); /* the next page begins with the first record */
        return 0;
    }
    cursor->number = number;
    pthread_mutex_lock(&mutex);
    cursor->age = ++last_age;
    size_t oldest = 0;
    for (size_t i = 1; i < MOST_KEPT; i++)
        if (kept[i].age < kept[oldest].age)
            oldest = i;
    struct slurmhooks_cursor gone = kept[oldest];
    kept[oldest] = *cursor;
    pthread_mutex_unlock(&mutex);
    slurmhooks_cursor_end(&gone);
    return number;
}
