/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_CHECKSUM_H
#define SLURMHOOKS_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 of IEEE 802.3, as in zlib. */
static inline uint32_t slurmhooks_checksum(uint32_t sum, const void *data, size_t size)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    const uint8_t *bytes = data;

    sum = ~sum;
    for (size_t i = 0; i < size; i++) {
        sum = table[(sum ^ bytes[i]) & 15] ^ sum >> 4;
        sum = table[(sum ^ bytes[i] >> 4) & 15] ^ sum >> 4;
    }
    return ~sum;
}

#endif
