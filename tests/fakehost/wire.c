/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls native/wire: writes requests to files, and applies answers from files. */
#include <slurm/slurm.h>

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "job_desc.h"
#include "memory.h"
#include "output.h"
#include "wire/wire.h"

/* RET the content of a file, in a block of its exact size, so that AddressSanitizer finds reads after its end. */
static char *read_file(const struct line *line, const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");

    if (!file || fseek(file, 0, SEEK_END))
        script_wrong(line, "no such file");
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*size ? *size : 1);
    if (!data || fread(data, 1, *size, file) != *size)
        script_wrong(line, "cannot read the file");
    fclose(file);
    return data;
}

static struct slurmhooks_buffer pack(const job_desc_msg_t *desc, bool whole)
{
    struct slurmhooks_buffer buffer;

    slurmhooks_begin(&buffer, SLURMHOOKS_REQUEST);
    if (whole)
        buffer.longest = SLURMHOOKS_WHOLE;
    slurmhooks_put_struct(&buffer, TABLE_job, desc);
    slurmhooks_end(&buffer, 0, 2001, desc->user_id);
    return buffer;
}

static void pack_into(const struct line *line, bool whole)
{
    job_desc_msg_t desc;
    FILE *file = fopen(line->words[1], "wb");

    job_desc_fill(&desc, line);
    struct slurmhooks_buffer buffer = pack(&desc, whole);
    if (!file || !buffer.data || fwrite(buffer.data, 1, buffer.size, file) != buffer.size || fclose(file))
        script_wrong(line, "cannot write the file");
    free(buffer.data);
    job_desc_free(&desc);
}

void command_pack(const struct line *line)
{
    pack_into(line, false);
}

void command_pack_whole(const struct line *line)
{
    pack_into(line, true);
}

void command_pack_member(const struct line *line)
{
    job_desc_msg_t desc;
    struct slurmhooks_buffer buffer;
    FILE *file = fopen(line->words[1], "wb");

    job_desc_fill(&desc, line);
    slurmhooks_begin(&buffer, SLURMHOOKS_RESULT);
    slurmhooks_put_member(&buffer, 0, (uint32_t)strtoul(line->words[2], NULL, 0), &desc);
    slurmhooks_end(&buffer, 0, 0, 0);
    if (!file || !buffer.data || fwrite(buffer.data, 1, buffer.size, file) != buffer.size || fclose(file))
        script_wrong(line, "cannot write the file");
    free(buffer.data);
    job_desc_free(&desc);
}

void command_apply(const struct line *line)
{
    size_t size;
    char *answer = read_file(line, line->words[1], &size);
    struct slurmhooks_verdict verdict = {0};
    job_desc_msg_t desc;

    job_desc_fill(&desc, line);
    const char *wrong = slurmhooks_apply(answer, size, &desc, &verdict);
    FILE *result = output_begin("apply");
    output_text(result, "wrong", wrong);
    output_number(result, "code", verdict.code);
    output_text(result, "text", wrong ? NULL : verdict.text);
    job_desc_print(&desc, result);
    output_end(result);
    job_desc_free(&desc);
    free(answer);
}

/*
 * Apply a damaged answer to a new request. RET whether it was refused. OUT changed: + 1 if it was refused and still
 * changed the request.
 */
static bool refused(const struct line *line, const char *answer, size_t size, long *changed)
{
    job_desc_msg_t desc, before;
    struct slurmhooks_verdict verdict;

    job_desc_fill(&desc, line);
    before = desc;
    bool wrong = slurmhooks_apply(answer, size, &desc, &verdict);
    *changed += wrong && memcmp(&before, &desc, sizeof(desc));
    /* A damaged write may change any member, but job_desc_free() frees only some members. */
    for (uint32_t i = 0; i < slurmhooks_tables.table[0].count; i++)
        if (slurmhooks_tables.table[0].members[i].kind == SLURMHOOKS_TEXT)
            slurm_xfree((void **)((char *)&desc + slurmhooks_tables.table[0].members[i].offset));
    job_desc_free(&desc);
    return wrong;
}

void command_damage_answer(const struct line *line)
{
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    size_t size;
    long cut = 0, flipped = 0, changed = 0;
    char *answer = read_file(line, line->words[1], &size);

    for (size_t shorter = 0; shorter < size; shorter++) {
        char *copy = malloc(shorter ? shorter : 1);
        memcpy(copy, answer, shorter);
        cut += refused(line, copy, shorter, &changed);
        free(copy);
    }
    for (size_t at = 0; at < size; at++) {
        for (size_t i = 0; i < sizeof(masks); i++) {
            answer[at] ^= (char)masks[i];
            flipped += refused(line, answer, size, &changed);
            answer[at] ^= (char)masks[i];
        }
    }
    FILE *result = output_begin("damage_answer");
    output_number(result, "size", (long long)size);
    output_number(result, "cut_refused", cut);
    output_number(result, "flipped_refused", flipped);
    output_number(result, "refused_and_changed", changed);
    output_end(result);
    free(answer);
}
