/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that all targets share. */
#ifndef SLURMHOOKS_FUZZ_H
#define SLURMHOOKS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/wire.h"

/* End the run, and report a finding. */
#define FUZZ_EXPECT(condition)                                                      \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/* The function of a target, which libFuzzer or replay.c calls. RET 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * RET a message in a block of its exact size, from malloc().
 *
 * The first byte of the input says whether the header is as in the input. Otherwise magic, type, identity and size are
 * set: no input reaches the code behind these checks by chance.
 *
 * IN data, size  the input
 * OUT length     of the message
 */
char *fuzz_message(const uint8_t *data, size_t size, enum slurmhooks_type type, size_t *length);

#endif
