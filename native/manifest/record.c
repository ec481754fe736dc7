/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/record.h"

/* RET the value of a hexadecimal digit in upper case, or -1. */
static int hex(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

int record_next(char **rest, struct record *record)
{
    const char *from = *rest;
    char *to = *rest;

    record->count = 1;
    record->words[0] = to;
    for (; *from && *from != '\n'; from++) {
        if (*from == ' ') {
            if (record->count == SLURMHOOKS_MOST_WORDS)
                return -1;
            *to++ = '\0';
            record->words[record->count++] = to;
        } else if (*from == '%') {
            int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);
            if (low < 0 || !(high * 16 + low))
                return -1;
            *to++ = (char)(high * 16 + low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *rest = (char *)from + (*from != '\0');
    *to = '\0';
    return 0;
}

int record_number(const char *word, uint64_t most, uint64_t *value)
{
    uint64_t sum = 0;

    if (!*word)
        return -1;
    for (; *word; word++) {
        if (*word < '0' || *word > '9')
            return -1;
        uint64_t digit = (uint64_t)(*word - '0');
        if (digit > most || sum > (most - digit) / 10)
            return -1;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return 0;
}

int record_hex_number(const char *word, unsigned *value)
{
    unsigned sum = 0;

    if (word[0] != '0' || word[1] != 'x')
        return -1;
    for (word += 2; *word; word++) {
        int digit = *word >= 'a' && *word <= 'f' ? *word - 'a' + 10 : hex(*word);
        if (digit < 0 || sum > (UINT32_MAX >> 4))
            return -1;
        sum = sum * 16 + (unsigned)digit;
    }
    *value = sum;
    return 0;
}
