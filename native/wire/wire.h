/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes and reads messages between slurmctld and workers. Counterpart: slurmhooks/wire/message.py. Needs neither
 * Python nor Slurm.
 *
 * A message is a header and items, which begin at multiples of 8 bytes. Byte order and alignment are those of the
 * machine, which must be a 64-bit machine. The value of an item is one of these:
 *
 *   a number        8 bytes
 *   a text          with the NUL at its end
 *   texts           one after the other, each with its NUL
 *   a packed struct 8 bytes (a slot) for each member of its table, then the texts that slots refer to
 *   nothing
 */
#ifndef SLURMHOOKS_WIRE_H
#define SLURMHOOKS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "slurmhooks needs a 64-bit machine");

/* Tables: the members of Slurm's structs. native/generate/tables.py writes them. */

enum slurmhooks_kind {
    SLURMHOOKS_U8,
    SLURMHOOKS_U16,
    SLURMHOOKS_U32,
    SLURMHOOKS_U64,
    SLURMHOOKS_TIME,
    SLURMHOOKS_POINTER, /* to a nested struct whose members are in the table; value 1 if not NULL */
    SLURMHOOKS_TEXT,
    SLURMHOOKS_TEXTS,
};

struct slurmhooks_member {
    const char *name;
    uint8_t kind;
    bool writable;
    uint32_t via[2]; /* offsets of the pointers to the nested struct of the member; unused: SLURMHOOKS_DIRECT */
    uint32_t offset; /* offset in the nested struct, or in the struct of the table */
    uint32_t count;  /* for SLURMHOOKS_TEXTS: offset of the uint32_t that counts them */
};

#define SLURMHOOKS_DIRECT UINT32_MAX
#define SLURMHOOKS_POINTEE(type, pointer) __typeof__(*((type *)0)->pointer)
/* The offset of a member. Does not compile if the member has another size. */
#define SLURMHOOKS_PLACE(type, member, size) \
    (offsetof(type, member) + sizeof(char[sizeof(((type *)0)->member) == (size) ? 1 : -1]) - 1)

struct slurmhooks_table {
    const char *name;
    uint32_t count;
    const struct slurmhooks_member *members;
};

#define SLURMHOOKS_MAX_TABLES 16
/* As `longest` of a buffer: structs are packed with all their texts, because workers cannot ask for them later. */
#define SLURMHOOKS_WHOLE SIZE_MAX

struct slurmhooks_tables {
    uint64_t identity; /* a hash of the tables as text, which workers read */
    uint32_t count;
    struct slurmhooks_table table[SLURMHOOKS_MAX_TABLES]; /* the first table is that of job_desc_msg_t */
};

extern const struct slurmhooks_tables slurmhooks_tables;
/* That text. Stored messages can be read as long as the text is stored with them. */
extern const char slurmhooks_tables_text[];

/* Messages */

struct slurmhooks_header {
    char magic[4];
    uint32_t type;
    uint64_t identity;
    uint32_t size; /* of the message, with the header */
    union {
        uint32_t hook;   /* of a request: enum slurmhooks_POINT_hook */
        uint32_t code;   /* of an answer: for Slurm */
        uint32_t what;   /* of a query: enum slurmhooks_what */
        uint32_t status; /* of a result: enum slurmhooks_status */
    };
    union {
        uint32_t sender; /* of a request: user who asks, or 0 */
        uint32_t table;  /* of a query; or its enum slurmhooks_fact */
        uint32_t next;   /* of a result: where the next page begins, or 0 */
    };
    union {
        uint32_t owner;  /* of a request: owner of the job, or 0 */
        uint32_t number; /* of a query: depends on its kind */
    };
};

struct slurmhooks_item {
    uint32_t tag; /* packed struct: its table; write: the member; otherwise depends on the message */
    uint32_t size;
    const char *value;
};

/* A message that is being written. */
struct slurmhooks_buffer {
    char *data; /* from malloc() */
    size_t size;
    size_t capacity;
    size_t longest; /* texts of a struct, or all texts of one of its members, that take more bytes are left out */
    bool cuts;      /* these are cut instead; of several texts of a member, whole ones are left out */
    bool failed;    /* it is too large, or memory is short: nothing more can be added */
};

/* Begin a message, whose structs have texts of up to SLURMHOOKS_INLINE bytes. */
void slurmhooks_begin(struct slurmhooks_buffer *buffer, enum slurmhooks_type type);

/* Finish a message: set the numbers of its header. RET true: the caller frees data; false: it has failed, and data is
 * NULL. */
bool slurmhooks_end(struct slurmhooks_buffer *buffer, uint32_t first, uint32_t second, uint32_t third);

/* Append an item. IN value: size bytes; NULL if size is 0. */
void slurmhooks_put(struct slurmhooks_buffer *buffer, uint32_t tag, const void *value, size_t size);

/* Append a text; NULL is an item of size 0. */
void slurmhooks_put_text(struct slurmhooks_buffer *buffer, uint32_t tag, const char *text);

/* Append a packed struct. IN object: a struct that the table describes. */
void slurmhooks_put_struct(struct slurmhooks_buffer *buffer, uint32_t table, const void *object);

/* Append a packed struct of some members. IN members: their numbers, in the order of the slots; NULL: the first count.
 */
void slurmhooks_put_some(struct slurmhooks_buffer *buffer, uint32_t table, const void *object, const uint32_t *members,
                         uint32_t count);

/* Append one member of a struct, even if it is too long for a packed struct. */
void slurmhooks_put_member(struct slurmhooks_buffer *buffer, uint32_t table, uint32_t member, const void *object);

/* Read the header of a message. RET false if it is not a message of this type with these tables. */
bool slurmhooks_open(const void *data, size_t size, enum slurmhooks_type type, struct slurmhooks_header *header);

/*
 * Read the next item.
 *
 * IN/OUT position  of the item; then behind it
 * RET false at the end of the message, or if the item is damaged: in the second case the position is less than the size
 */
bool slurmhooks_next(const void *data, size_t size, size_t *position, struct slurmhooks_item *item);

/* Read the value of an item that is a number. RET false if it is not a number. */
bool slurmhooks_number(const struct slurmhooks_item *item, uint64_t *number);

/* RET whether an item is a text. */
bool slurmhooks_is_text(const struct slurmhooks_item *item);

/* RET the value of a number in a struct; 0 if its nested struct is NULL. */
uint64_t slurmhooks_load(const struct slurmhooks_member *member, const void *object);

/* RET a text in a struct, or NULL. */
const char *slurmhooks_load_text(const struct slurmhooks_member *member, const void *object);

/* Answers */

struct slurmhooks_verdict {
    int code;         /* the return code for Slurm */
    const char *text; /* for the user, inside the answer; or NULL */
};

/*
 * Check a whole answer, then apply its writes to a job_desc_msg_t. IN job_desc: NULL if there is none to write to.
 *
 * Texts and arrays are replaced with Slurm's allocator, and the counters of arrays are set.
 *
 * OUT verdict  if NULL is returned
 * RET NULL, or what is wrong with the answer; then nothing was applied
 */
const char *slurmhooks_apply(const void *answer, size_t size, void *job_desc, struct slurmhooks_verdict *verdict);

#endif
