/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "fuzz.h"

char *fuzz_message(const uint8_t *data, size_t size, enum slurmhooks_type type, size_t *length)
{
    struct slurmhooks_header header = {.magic = {0}};
    bool as_it_is = size && *data & 1;

    data += size != 0;
    size -= size != 0;
    *length = as_it_is || size >= sizeof(header) ? size : sizeof(header);
    char *message = calloc(1, *length ? *length : 1);
    FUZZ_EXPECT(message);
    if (size)
        memcpy(message, data, size);
    if (as_it_is)
        return message;
    memcpy(&header, message, sizeof(header));
    memcpy(header.magic, SLURMHOOKS_MAGIC, sizeof(header.magic));
    header.type = type;
    header.identity = slurmhooks_tables.identity;
    header.size = (uint32_t)*length;
    memcpy(message, &header, sizeof(header));
    return message;
}
