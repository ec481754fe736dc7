/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a target once for each named file, without libFuzzer. */
#include <errno.h>
#include <string.h>

#include "fuzz.h"

int main(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file || fseek(file, 0, SEEK_END)) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 2;
        }
        size_t size = (size_t)ftell(file);
        /* A block of the exact size: AddressSanitizer finds each read behind it. */
        uint8_t *data = malloc(size ? size : 1);
        rewind(file);
        FUZZ_EXPECT(data && fread(data, 1, size, file) == size);
        fclose(file);
        fprintf(stderr, "%s\n", argv[i]);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    return 0;
}
