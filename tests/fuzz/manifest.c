/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A manifest: it is read, or refused with a reason. */
#include <slurm/slurm_version.h>
#include <string.h>

#include "checksum.h"
#include "fuzz.h"
#include "identity.h"
#include "manifest/parse.h"

/* Plugins never free the options and the list, which are used until the process ends. */
static void free_lines(struct manifest_line *lines)
{
    while (lines) {
        struct manifest_line *next = lines->next;
        free(lines->options);
        free(lines);
        lines = next;
    }
}

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* The first byte says whether the first line is as in the input: it names the release of Slurm. */
    bool as_it_is = size && *data & 1;
    char header[96];
    const char *why = NULL;

    data += size != 0;
    size -= size != 0;
    snprintf(header, sizeof(header), "slurmhooks-manifest 4 0x%06x %s 0x%08X\n", SLURM_VERSION_NUMBER,
             SLURMHOOKS_IDENTITY, slurmhooks_checksum(0, data, size));
    size_t start = as_it_is ? 0 : strlen(header), read = 0, whole = start + size;
    char *text = malloc(whole + 1);
    FUZZ_EXPECT(text);
    memcpy(text, header, start);
    if (size)
        memcpy(text + start, data, size);
    struct manifest_line *lines = manifest_parse(text, whole, &why);
    FUZZ_EXPECT(why);
    for (const struct manifest_line *line = lines; line; line = line->next) {
        for (int i = 0; i < line->argc; i++)
            read += length_of(line->argv[i]);
        for (int i = 0; i < line->option_count; i++)
            read += length_of(line->options[i].name) + length_of(line->options[i].arginfo) +
                    length_of(line->options[i].usage);
        read += length_of(line->script);
    }
    FUZZ_EXPECT(read <= whole);
    free_lines(lines);
    free(text);
    return 0;
}
