/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between slurmctld and the workers; slurmhooks/wire/message.py is the other side. No Python, no Slurm.
 *
 * A message is a header and items, each of which begins at a multiple of 8. Byte order is the machine's, which must
 * have 64 bits. The value of an item is a number (8 bytes), a text (with the NUL at its end), texts (likewise, one
 * after the other), nothing, or a packed struct: 8 bytes for each member of its table, then the texts.
 */
#ifndef SLURMHOOKS_WIRE_H
#define SLURMHOOKS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "slurmhooks needs a machine of 64 bits");

/* Tables, written by native/generate/tables.py */

enum slurmhooks_kind {
    SLURMHOOKS_U8,
    SLURMHOOKS_U16,
    SLURMHOOKS_U32,
    SLURMHOOKS_U64,
    SLURMHOOKS_TIME,
    SLURMHOOKS_POINTER, /* 1 if it is not NULL; what it points to has members of its own */
    SLURMHOOKS_TEXT,
    SLURMHOOKS_TEXTS,
};

struct slurmhooks_member {
    const char *name;
    uint8_t kind;
    bool writable;
    uint32_t via;    /* offset of the pointer to the struct that has the member; SLURMHOOKS_DIRECT: none */
    uint32_t offset; /* in that struct, or in the table's own */
    uint32_t count;  /* of texts: offset of the uint32_t that counts them */
};

#define SLURMHOOKS_DIRECT UINT32_MAX
#define SLURMHOOKS_POINTEE(type, pointer) __typeof__(*((type *)0)->pointer)
/* The offset of a member that the compiler finds to have this size. */
#define SLURMHOOKS_PLACE(type, member, size) \
    (offsetof(type, member) + sizeof(char[sizeof(((type *)0)->member) == (size) ? 1 : -1]) - 1)

struct slurmhooks_table {
    const char *name;
    uint32_t count;
    const struct slurmhooks_member *members;
};

#define SLURMHOOKS_MOST_TABLES 8

struct slurmhooks_tables {
    uint64_t identity; /* of the text that the worker reads */
    uint32_t count;
    struct slurmhooks_table table[SLURMHOOKS_MOST_TABLES]; /* of which the first is job_desc_msg_t */
};

extern const struct slurmhooks_tables slurmhooks_tables;
/* That text: messages that are kept can be read as long as it is kept, too. */
extern const char slurmhooks_tables_text[];

/* Messages */

enum slurmhooks_type { SLURMHOOKS_REQUEST = 1, SLURMHOOKS_ANSWER, SLURMHOOKS_QUERY, SLURMHOOKS_RESULT };

struct slurmhooks_header {
    char magic[4];
    uint32_t type;
    uint64_t identity;
    uint32_t size;   /* of the message, header included */
    uint32_t first;  /* request: 0 submission, 1 update; answer: return code; query: what; result: status */
    uint32_t second; /* request: who asks; query: number of the table; result: where the next page begins, or 0 */
    uint32_t third;  /* request: whose job; query: depends on what */
};

#define SLURMHOOKS_MAGIC "SHW1"
/* Largest message. Slurm's own limit for a request is larger, but not by default. */
#define SLURMHOOKS_LARGEST ((size_t)64 << 20)

struct slurmhooks_item {
    uint32_t tag; /* packed struct: number of its table; write: number of the member; else depends on the message */
    uint32_t size;
    const char *value;
};

/* The tag of an answer's text for the user. */
#define SLURMHOOKS_TEXT_FOR_USER UINT32_MAX
/* The tag of a request's text: the name of a handler that is left out. */
#define SLURMHOOKS_LEFT_OUT_HANDLER (UINT32_MAX - 1)

/* The tag of the numbers, 32 bits each, of the members that the structs of a message have; none: they have all. */
#define SLURMHOOKS_MEMBERS (UINT32_MAX - 2)
/* The tag of the variables, as texts, that scripts of the same event find in their environment. */
#define SLURMHOOKS_VARIABLES (UINT32_MAX - 3)

/* A text or texts that are there but too long to be sent unasked: the slot of a packed struct. */
#define SLURMHOOKS_LEFT_OUT UINT64_C(1)
/* Longest text, and longest sum of texts, that is sent unasked. */
#define SLURMHOOKS_INLINE ((size_t)16 << 10)

/* A message that is being written. */
struct slurmhooks_buffer {
    char *data; /* from malloc() */
    size_t size;
    size_t capacity;
    bool failed; /* no memory, or too large: nothing more is written */
};

void slurmhooks_begin(struct slurmhooks_buffer *buffer, enum slurmhooks_type type);

/* Finish a message. RET false: it failed, and data is NULL; else the caller frees data. */
bool slurmhooks_end(struct slurmhooks_buffer *buffer, uint32_t first, uint32_t second, uint32_t third);

/* Append an item. IN value: size bytes, or NULL: nothing of size 0. */
void slurmhooks_put(struct slurmhooks_buffer *buffer, uint32_t tag, const void *value, size_t size);

/* Append a text; NULL is an item of size 0. */
void slurmhooks_put_text(struct slurmhooks_buffer *buffer, uint32_t tag, const char *text);

/* Append a packed struct. IN table: its number. */
void slurmhooks_put_struct(struct slurmhooks_buffer *buffer, uint32_t table, const void *object);

/* Append a packed struct of some members. IN members: their numbers, in the order of the slots; NULL: the first count.
 */
void slurmhooks_put_some(struct slurmhooks_buffer *buffer, uint32_t table, const void *object, const uint32_t *members,
                         uint32_t count);

/* Append one member of a struct, whatever its length. */
void slurmhooks_put_member(struct slurmhooks_buffer *buffer, uint32_t table, uint32_t member, const void *object);

/* Read a message's header. RET false: it is no message of this type and these tables. */
bool slurmhooks_open(const void *data, size_t size, enum slurmhooks_type type, struct slurmhooks_header *header);

/* Read the item at a position, and move on. RET false: none is left, or the message is damaged: then it ends early. */
bool slurmhooks_next(const void *data, size_t size, size_t *position, struct slurmhooks_item *item);

/* A number's value. RET false: the item is none. */
bool slurmhooks_number(const struct slurmhooks_item *item, uint64_t *number);

/* Whether an item is one text. */
bool slurmhooks_is_text(const struct slurmhooks_item *item);

/* The value of a number in a struct; 0 where its struct is NULL. */
uint64_t slurmhooks_load(const struct slurmhooks_member *member, const void *object);

/* The text in a struct, or NULL. */
const char *slurmhooks_load_text(const struct slurmhooks_member *member, const void *object);

/* Answers */

struct slurmhooks_verdict {
    int code;         /* for Slurm */
    const char *text; /* for the user, or NULL; part of the answer */
};

/*
 * Check a whole answer, and apply its writes to a job_desc_msg_t if its code is 0. IN job_desc: NULL: it has none.
 *
 * Texts and arrays change hands in Slurm's allocator; the counter of an array follows it.
 * RET NULL, or what is wrong with the answer: nothing was applied then.
 */
const char *slurmhooks_apply(const void *answer, size_t size, void *job_desc, struct slurmhooks_verdict *verdict);

#endif
