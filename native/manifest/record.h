/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of a manifest: one a line, words apart by blanks, with blanks and the like inside them as %XX. */
#ifndef SLURMHOOKS_MANIFEST_RECORD_H
#define SLURMHOOKS_MANIFEST_RECORD_H

#include <stdint.h>

/* One less than slurmhooks/manifest.py writes. */
#define MOST_WORDS 64

struct record {
    int count;
    char *words[MOST_WORDS];
};

/*
 * Take the next row apart, in place: blanks between words, %XX undone. One pass, and none of libc's functions: each
 * would cost its look-up by the dynamic linker in every sbatch and srun.
 *
 * IN/OUT rest  the start of the row, then of the one behind it, or the NUL that ends the text
 * RET 0, or -1 if there are too many words, or a % is followed by something else than the digits of a byte but NUL
 */
int record_next(char **rest, struct record *record);

/* Read a word as a number. RET 0, or -1 if it is not a plain number that fits. */
int record_number(const char *word, uint64_t most, uint64_t *value);

/* Read a word such as 0x180b05. RET 0, or -1. */
int record_hex_number(const char *word, unsigned *value);

#endif
