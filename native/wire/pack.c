/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes messages; packs structs by their tables. */
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

/* An array of texts in a struct. */
struct texts {
    char *const *items;
    uint32_t count;
};

/* RET room for more bytes at the end of a message, or NULL if it has failed. */
static char *extend(struct slurmhooks_buffer *buffer, size_t size)
{
    if (buffer->failed || size > SLURMHOOKS_MAX_MESSAGE - buffer->size) {
        buffer->failed = true;
        return NULL;
    }
    if (buffer->size + size > buffer->capacity) {
        size_t capacity = 2 * (buffer->size + size);
        char *data = realloc(buffer->data, capacity);
        if (!data) {
            buffer->failed = true;
            return NULL;
        }
        buffer->data = data;
        buffer->capacity = capacity;
    }
    char *place = buffer->data + buffer->size;
    buffer->size += size;
    return place;
}

static void append(struct slurmhooks_buffer *buffer, const void *bytes, size_t size)
{
    char *place = size ? extend(buffer, size) : NULL;

    if (place)
        memcpy(place, bytes, size);
}

void slurmhooks_begin(struct slurmhooks_buffer *buffer, enum slurmhooks_type type)
{
    struct slurmhooks_header header = {.magic = {0}, .type = type, .identity = slurmhooks_tables.identity};

    memcpy(header.magic, SLURMHOOKS_MAGIC, sizeof(header.magic));
    *buffer = (struct slurmhooks_buffer){.capacity = 8192, .longest = SLURMHOOKS_INLINE};
    buffer->data = malloc(buffer->capacity);
    buffer->failed = !buffer->data;
    append(buffer, &header, sizeof(header));
}

bool slurmhooks_end(struct slurmhooks_buffer *buffer, uint32_t first, uint32_t second, uint32_t third)
{
    if (buffer->failed) {
        free(buffer->data);
        buffer->data = NULL;
        return false;
    }
    struct slurmhooks_header *header = (struct slurmhooks_header *)buffer->data;
    header->size = (uint32_t)buffer->size;
    header->hook = first;
    header->sender = second;
    header->owner = third;
    return true;
}

/* Begin an item. RET the position of its value. */
static size_t open_item(struct slurmhooks_buffer *buffer, uint32_t tag)
{
    uint32_t head[2] = {tag, 0};

    append(buffer, head, sizeof(head));
    return buffer->size;
}

/* Finish an item whose value begins at `start`: set its size, and pad it to a multiple of 8 bytes. */
static void close_item(struct slurmhooks_buffer *buffer, size_t start)
{
    static const char zeros[8];

    if (buffer->failed)
        return;
    uint32_t size = (uint32_t)(buffer->size - start);
    memcpy(buffer->data + start - sizeof(size), &size, sizeof(size));
    append(buffer, zeros, -size % 8);
}

void slurmhooks_put(struct slurmhooks_buffer *buffer, uint32_t tag, const void *value, size_t size)
{
    size_t start = open_item(buffer, tag);

    append(buffer, value, size);
    close_item(buffer, start);
}

void slurmhooks_put_text(struct slurmhooks_buffer *buffer, uint32_t tag, const char *text)
{
    slurmhooks_put(buffer, tag, text, text ? strlen(text) + 1 : 0);
}

/* RET the struct that has the member: the object or a nested struct; NULL if the pointer to it is NULL. */
static const char *base_of(const struct slurmhooks_member *member, const void *object)
{
    const char *base = object;

    for (size_t i = 0; i < 2 && base && member->via[i] != SLURMHOOKS_DIRECT; i++)
        base = *(char *const *)(base + member->via[i]);
    return base;
}

/* RET the value of a number at its place in a struct. */
static uint64_t load_at(const struct slurmhooks_member *member, const char *base)
{
    const char *at = base + member->offset;

    switch (member->kind) {
    case SLURMHOOKS_U8: return *(const uint8_t *)at;
    case SLURMHOOKS_U16: return *(const uint16_t *)at;
    case SLURMHOOKS_U32: return *(const uint32_t *)at;
    case SLURMHOOKS_U64:
    case SLURMHOOKS_TIME: return *(const uint64_t *)at;
    case SLURMHOOKS_POINTER: return *(void *const *)at != NULL;
    default: return 0;
    }
}

uint64_t slurmhooks_load(const struct slurmhooks_member *member, const void *object)
{
    const char *base = base_of(member, object);

    return base ? load_at(member, base) : 0;
}

const char *slurmhooks_load_text(const struct slurmhooks_member *member, const void *object)
{
    const char *base = member->kind == SLURMHOOKS_TEXT ? base_of(member, object) : NULL;

    return base ? *(char *const *)(base + member->offset) : NULL;
}

static struct texts load_texts(const struct slurmhooks_member *member, const char *base)
{
    struct texts texts = {*(char *const *const *)(base + member->offset), 0};

    if (texts.items)
        texts.count = *(const uint32_t *)(base + member->count);
    return texts;
}

static void append_texts(struct slurmhooks_buffer *buffer, const struct texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
        if (texts->items[i])
            append(buffer, texts->items[i], strlen(texts->items[i]) + 1);
}

/* RET the slot of texts that were appended at position `at`. Removes them if they are too long. */
static uint64_t slot_of(struct slurmhooks_buffer *buffer, size_t start, size_t at)
{
    size_t size = buffer->size - at;

    if (size > buffer->longest) {
        buffer->size = at;
        return SLURMHOOKS_DEFERRED;
    }
    return (uint64_t)size << 32 | (at - start);
}

/* Append a text after the slots. RET its slot. */
static uint64_t pack_text(struct slurmhooks_buffer *buffer, size_t start, const char *text)
{
    if (!text)
        return 0;
    size_t at = buffer->size, length = strnlen(text, buffer->longest);
    if (length == buffer->longest && !buffer->cuts)
        return SLURMHOOKS_DEFERRED;
    append(buffer, text, length - (length == buffer->longest));
    append(buffer, "", 1);
    return slot_of(buffer, start, at);
}

/* Append texts after the slots. RET their slot. */
static uint64_t pack_texts(struct slurmhooks_buffer *buffer, size_t start, const struct texts *texts)
{
    size_t at = buffer->size;

    if (!texts->items)
        return 0;
    for (uint32_t i = 0; i < texts->count && buffer->size - at <= buffer->longest && !buffer->failed; i++) {
        size_t length = texts->items[i] ? strlen(texts->items[i]) + 1 : 0;
        if (buffer->cuts && buffer->size - at + length > buffer->longest)
            break;
        append(buffer, texts->items[i], length);
    }
    return slot_of(buffer, start, at);
}

void slurmhooks_put_some(struct slurmhooks_buffer *buffer, uint32_t table, const void *object, const uint32_t *members,
                         uint32_t count)
{
    size_t start = open_item(buffer, table);

    if (!extend(buffer, count * sizeof(uint64_t)))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct slurmhooks_member *member = &slurmhooks_tables.table[table].members[members ? members[i] : i];
        const char *base = base_of(member, object);
        uint64_t slot = 0;

        if (base && member->kind == SLURMHOOKS_TEXT) {
            slot = pack_text(buffer, start, *(char *const *)(base + member->offset));
        } else if (base && member->kind == SLURMHOOKS_TEXTS) {
            struct texts texts = load_texts(member, base);
            slot = pack_texts(buffer, start, &texts);
        } else if (base) {
            slot = load_at(member, base);
        }
        if (buffer->failed)
            return;
        /* The buffer may have moved since extend(). */
        ((uint64_t *)(buffer->data + start))[i] = slot;
    }
    close_item(buffer, start);
}

void slurmhooks_put_struct(struct slurmhooks_buffer *buffer, uint32_t table, const void *object)
{
    slurmhooks_put_some(buffer, table, object, NULL, slurmhooks_tables.table[table].count);
}

void slurmhooks_put_member(struct slurmhooks_buffer *buffer, uint32_t table, uint32_t number, const void *object)
{
    const struct slurmhooks_member *member = &slurmhooks_tables.table[table].members[number];
    const char *base = base_of(member, object);

    if (!base) {
        slurmhooks_put(buffer, number, NULL, 0);
    } else if (member->kind == SLURMHOOKS_TEXT) {
        slurmhooks_put_text(buffer, number, *(char *const *)(base + member->offset));
    } else if (member->kind == SLURMHOOKS_TEXTS) {
        struct texts texts = load_texts(member, base);
        size_t start = open_item(buffer, number);
        append_texts(buffer, &texts);
        close_item(buffer, start);
    } else {
        uint64_t value = load_at(member, base);
        slurmhooks_put(buffer, number, &value, sizeof(value));
    }
}
