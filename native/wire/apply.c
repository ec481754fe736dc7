/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads messages, and applies answers. The whole answer is checked before its first write is applied. */
#include <string.h>

#include "wire/wire.h"

/* Slurm's allocator, which owns all texts and arrays of a request. It ends the process if memory is short. */
extern void *slurm_xcalloc(size_t count, size_t size, bool clear, bool may_fail, const char *file, int line,
                           const char *function);
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree(void **item);

/* What a text in an array costs beyond its bytes: a pointer, the allocator's header, and what its sizes are rounded to.
 */
#define TEXT_OVERHEAD 64

bool slurmhooks_open(const void *data, size_t size, enum slurmhooks_type type, struct slurmhooks_header *header)
{
    if (!data || size < sizeof(*header) || size > SLURMHOOKS_MAX_MESSAGE)
        return false;
    memcpy(header, data, sizeof(*header));
    return !memcmp(header->magic, SLURMHOOKS_MAGIC, sizeof(header->magic)) && header->type == type &&
           header->size == size && header->identity == slurmhooks_tables.identity;
}

bool slurmhooks_next(const void *data, size_t size, size_t *position, struct slurmhooks_item *item)
{
    uint32_t head[2];

    if (*position > size || size - *position < sizeof(head))
        return false;
    memcpy(head, (const char *)data + *position, sizeof(head));
    size_t padded = ((size_t)head[1] + 7) & ~(size_t)7;
    if (padded > size - *position - sizeof(head))
        return false;
    item->tag = head[0];
    item->size = head[1];
    item->value = (const char *)data + *position + sizeof(head);
    *position += sizeof(head) + padded;
    return true;
}

bool slurmhooks_number(const struct slurmhooks_item *item, uint64_t *number)
{
    if (item->size != sizeof(*number))
        return false;
    memcpy(number, item->value, sizeof(*number));
    return true;
}

bool slurmhooks_is_text(const struct slurmhooks_item *item)
{
    return item->size && memchr(item->value, 0, item->size) == item->value + item->size - 1;
}

/* RET whether a member of this kind can hold the number. */
static bool fits(enum slurmhooks_kind kind, uint64_t number)
{
    switch (kind) {
    case SLURMHOOKS_U8: return number <= UINT8_MAX;
    case SLURMHOOKS_U16: return number <= UINT16_MAX;
    case SLURMHOOKS_U32: return number <= UINT32_MAX;
    case SLURMHOOKS_U64:
    case SLURMHOOKS_TIME: return true;
    default: return false;
    }
}

/* RET NULL if a write can be applied, else the reason, for the log. */
static const char *check_write(const struct slurmhooks_item *item)
{
    const struct slurmhooks_table *table = &slurmhooks_tables.table[0];
    uint64_t number;

    if (item->tag >= table->count)
        return "it writes a member that does not exist";
    const struct slurmhooks_member *member = &table->members[item->tag];
    if (!member->writable || member->via[0] != SLURMHOOKS_DIRECT)
        return "it writes a member that is read-only";
    switch (member->kind) {
    case SLURMHOOKS_TEXT:
        return !item->size || slurmhooks_is_text(item) ? NULL : "it writes a text without a NUL at its end";
    case SLURMHOOKS_TEXTS:
        return !item->size || !item->value[item->size - 1] ? NULL : "it writes texts without a NUL at their end";
    default:
        return slurmhooks_number(item, &number) && fits(member->kind, number)
                   ? NULL
                   : "it writes a number that does not fit into the member";
    }
}

/* RET how many texts the item of an array has. */
static uint32_t count_texts(const struct slurmhooks_item *item)
{
    const char *end = item->value + item->size;
    uint32_t count = 0;

    for (const char *text = item->value; text < end; text += strlen(text) + 1)
        count++;
    return count;
}

/* RET the bytes that slurmctld needs for a write that check_write() has accepted. */
static size_t needed(const struct slurmhooks_item *item)
{
    bool is_array = slurmhooks_tables.table[0].members[item->tag].kind == SLURMHOOKS_TEXTS;

    return item->size + (is_array ? (size_t)count_texts(item) * TEXT_OVERHEAD : 0);
}

/* Check a whole answer. OUT verdict. RET NULL if it can be applied, else the reason, for the log. */
static const char *check(const void *answer, size_t size, bool writable, struct slurmhooks_verdict *verdict)
{
    struct slurmhooks_header header;
    struct slurmhooks_item item;
    size_t position = sizeof(header), memory = 0;

    if (!slurmhooks_open(answer, size, SLURMHOOKS_ANSWER, &header))
        return "it is not an answer of this build of slurmhooks";
    *verdict = (struct slurmhooks_verdict){(int32_t)header.code, NULL};
    while (slurmhooks_next(answer, size, &position, &item)) {
        if (item.tag != SLURMHOOKS_TEXT_FOR_USER) {
            const char *wrong = verdict->code ? "it both refuses the request and writes to it" : check_write(&item);
            if (!wrong && !writable)
                wrong = "it writes, but there is no request to write to";
            if (!wrong && (memory += needed(&item)) > SLURMHOOKS_MAX_MESSAGE)
                wrong = "it writes more than a request may hold";
            if (wrong)
                return wrong;
        } else if (verdict->text || !slurmhooks_is_text(&item)) {
            return "its text for the user is not a text, or not the only one";
        } else {
            verdict->text = item.value;
        }
    }
    return position == size ? NULL : "it ends within an item";
}

static void store_number(const struct slurmhooks_member *member, char *at, uint64_t number)
{
    switch (member->kind) {
    case SLURMHOOKS_U8: *(uint8_t *)at = (uint8_t)number; break;
    case SLURMHOOKS_U16: *(uint16_t *)at = (uint16_t)number; break;
    case SLURMHOOKS_U32: *(uint32_t *)at = (uint32_t)number; break;
    default: *(uint64_t *)at = number;
    }
}

/* Replace an array of texts and its counter. */
static void store_texts(char ***array, uint32_t *count, const struct slurmhooks_item *item)
{
    const char *end = item->value + item->size;
    char **old = *array, **new = NULL;
    uint32_t size = count_texts(item), old_count = old ? *count : 0;

    if (size) {
        /* Slurm's arrays end with a NULL that is not counted. */
        new = slurm_xcalloc((size_t)size + 1, sizeof(*new), true, false, __FILE__, __LINE__, __func__);
        char **next = new;
        for (const char *text = item->value; text < end; text += strlen(text) + 1)
            *next++ = slurm_xstrdup(text);
    }
    for (uint32_t i = 0; i < old_count; i++)
        slurm_xfree((void **)&old[i]);
    slurm_xfree((void **)&old);
    *array = new;
    *count = size;
}

/* Apply one write. */
static void store(const struct slurmhooks_item *item, char *job_desc)
{
    const struct slurmhooks_member *member = &slurmhooks_tables.table[0].members[item->tag];
    char *at = job_desc + member->offset;
    uint64_t number = 0;

    if (member->kind == SLURMHOOKS_TEXT) {
        slurm_xfree((void **)at);
        *(char **)at = item->size ? slurm_xstrdup(item->value) : NULL;
    } else if (member->kind == SLURMHOOKS_TEXTS) {
        store_texts((char ***)at, (uint32_t *)(job_desc + member->count), item);
    } else if (slurmhooks_number(item, &number)) {
        store_number(member, at, number);
    }
}

const char *slurmhooks_apply(const void *answer, size_t size, void *job_desc, struct slurmhooks_verdict *verdict)
{
    size_t position = sizeof(struct slurmhooks_header);
    struct slurmhooks_item item;
    const char *wrong = check(answer, size, job_desc != NULL, verdict);

    while (!wrong && job_desc && slurmhooks_next(answer, size, &position, &item))
        if (item.tag != SLURMHOOKS_TEXT_FOR_USER)
            store(&item, job_desc);
    return wrong;
}
