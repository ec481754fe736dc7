/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a manifest into records: one per line, words separated by single blanks. A byte of a word may be %XX. */
#ifndef SLURMHOOKS_MANIFEST_RECORD_H
#define SLURMHOOKS_MANIFEST_RECORD_H

#include <stdint.h>

#include "protocol.h"

struct record {
    int count;
    char *words[SLURMHOOKS_MOST_WORDS];
};

/*
 * Split the next line into words, in place, and decode %XX.
 *
 * Does it in one pass without libc functions: the dynamic linker would have to look up each of them in every sbatch and
 * srun.
 *
 * IN/OUT rest  the start of the line; then the start of the next line, or the NUL that ends the text
 * OUT record   words inside the text
 * RET 0, or -1 if the line has more than SLURMHOOKS_MOST_WORDS words, or an invalid %XX (%00 is one)
 */
int record_next(char **rest, struct record *record);

/* Read a decimal number. RET 0, or -1 if the word has other characters or the number is larger than `most`. */
int record_number(const char *word, uint64_t most, uint64_t *value);

/* Read a number such as 0x180b05. RET 0 or -1. */
int record_hex_number(const char *word, unsigned *value);

#endif
