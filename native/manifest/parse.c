/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/parse.h"

#include <slurm/slurm_version.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "identity.h"
#include "manifest/record.h"

/* RET the index of a name, or -1. */
static int index_of(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

/* RET the index in manifest_line.calls of a function that Slurm calls, or -1: the plugin point has no such function. */
static int call_of(const struct manifest_line *line, const char *name)
{
#define NAME(name) #name,
    static const char *const callbacks[] = {SLURMHOOKS_CALLBACKS(NAME)};
    static const char *const filters[] = {SLURMHOOKS_FILTERS(NAME)};

    if (line->argc == MANIFEST_CLI_FILTER)
        return index_of(name, filters, FILTER_COUNT);
    if (line->argc == MANIFEST_NODE)
        return strcmp(name, "health_check") ? -1 : HOOK_health_check;
    return line->argc < 0 ? -1 : index_of(name, callbacks, CALLBACK_COUNT);
}

/* RET the plugin point that a record names, or 0. */
static int point_of(const char *kind)
{
    if (!strcmp(kind, "scrun"))
        return MANIFEST_SCRUN;
    if (!strcmp(kind, "cli_filter"))
        return MANIFEST_CLI_FILTER;
    return !strcmp(kind, "node") ? MANIFEST_NODE : 0;
}

/* POINT: the records that follow belong to that plugin point. RET the new head of the list, or NULL on error. */
static struct manifest_line *add_point(const struct record *record, struct manifest_line *next)
{
    struct manifest_line *line = record->count == 1 ? calloc(1, sizeof(*line)) : NULL;

    if (!line)
        return NULL;
    line->argc = point_of(record->words[0]);
    line->next = next;
    return line;
}

/* script PATH: the site's own scrun.lua. RET 0 or -1. */
static int set_script(const struct record *record, struct manifest_line *line)
{
    if (record->count != 2 || line->script)
        return -1;
    line->script = record->words[1];
    return 0;
}

/* line ARGS...: the records that follow belong to a line of plugstack.conf. RET as add_point(). */
static struct manifest_line *add_line(const struct record *record, struct manifest_line *next)
{
    struct manifest_line *line = calloc(1, sizeof(*line) + (size_t)record->count * sizeof(*line->argv));

    if (!line)
        return NULL;
    line->argc = record->count - 1;
    for (int i = 0; i < line->argc; i++)
        line->argv[i] = record->words[i + 1];
    line->next = next;
    return line;
}

/* call FUNCTION CONTEXTS: there is a handler. RET 0 or -1. */
static int add_call(const struct record *record, struct manifest_line *line)
{
    uint64_t contexts;

    if (record->count != 3 || record_number(record->words[2], 63, &contexts))
        return -1;
    int call = call_of(line, record->words[1]);
    if (call < 0)
        return -1;
    line->calls[call] |= (unsigned)contexts;
    return 0;
}

/* option HAS_ARG CONTEXTS CHECKED NAME ARGINFO USAGE: ARGINFO is empty for a flag. RET 0 or -1. */
static int add_option(const struct record *record, struct manifest_line *line)
{
    uint64_t has_arg, contexts, checked;

    if (record->count != 7 || record_number(record->words[1], 2, &has_arg) ||
        record_number(record->words[2], 63, &contexts) || record_number(record->words[3], 1, &checked) ||
        !*record->words[4] || line->option_count == SLURMHOOKS_MOST_OPTIONS)
        return -1;
    struct manifest_option *grown = realloc(line->options, ((size_t)line->option_count + 1) * sizeof(*line->options));
    if (!grown)
        return -1;
    line->options = grown;
    grown[line->option_count++] = (struct manifest_option){
        .name = record->words[4],
        .arginfo = *record->words[5] ? record->words[5] : NULL,
        .usage = record->words[6],
        .has_arg = (int)has_arg,
        .contexts = (unsigned)contexts,
        .checked = (int)checked,
    };
    return 0;
}

static void free_lines(struct manifest_line *lines)
{
    while (lines) {
        struct manifest_line *next = lines->next;
        free(lines->options);
        free(lines);
        lines = next;
    }
}

/* Read one record. RET 0, or -1: it is damaged. */
static int read_record(const struct record *record, struct manifest_line **lines)
{
    const char *kind = record->words[0];

    if (!strcmp(kind, "line") || point_of(kind)) {
        struct manifest_line *head = point_of(kind) ? add_point(record, *lines) : add_line(record, *lines);
        if (!head)
            return -1;
        *lines = head;
        return 0;
    }
    if (!*lines)
        return -1;
    int scrun = (*lines)->argc == MANIFEST_SCRUN;
    if (!strcmp(kind, "call"))
        return add_call(record, *lines);
    if ((*lines)->argc >= 0 && !strcmp(kind, "option"))
        return add_option(record, *lines);
    if (scrun && !strcmp(kind, "script"))
        return set_script(record, *lines);
    if ((*lines)->argc == MANIFEST_NODE && (!strcmp(kind, "health") || !strcmp(kind, "check")))
        return 0;
    if ((*lines)->argc >= 0 && !strcmp(kind, "lua")) {
        (*lines)->is_exact = 1;
        return 0;
    }
    /* Only Python, which loads the line, uses these records: see slurmhooks/site/manifest.py. */
    return !strcmp(kind, "source") || !strcmp(kind, "module") || !strcmp(kind, "packages") || !strcmp(kind, "log") ||
                   (!scrun && !strcmp(kind, "lua"))
               ? 0
               : -1;
}

/*
 * slurmhooks-manifest 4 0xVERSION IDENTITY SUM: the version of this format, the Slurm release and the sources that this
 * build is of, and the checksum of all that follows. RET 0 or -1.
 */
static int check_header(const struct record *record, unsigned *sum)
{
    unsigned version;

    if (record->count != 5 || strcmp(record->words[0], "slurmhooks-manifest") || strcmp(record->words[1], "4") ||
        record_hex_number(record->words[2], &version) || strcmp(record->words[3], SLURMHOOKS_IDENTITY) ||
        record_hex_number(record->words[4], sum))
        return -1;
    return version == SLURM_VERSION_NUMBER ? 0 : -1;
}

struct manifest_line *manifest_parse(char *text, size_t size, const char **why)
{
    struct manifest_line *lines = NULL;
    struct record record;
    char *rest = text;
    int ended = 0, rc = 0;
    unsigned sum;

    *why = "it is damaged";
    text[size] = '\0';
    if (record_next(&rest, &record) || !*rest)
        return NULL;
    if (check_header(&record, &sum)) {
        *why = "it was written by another version of slurmhooks, or for another release of Slurm";
        return NULL;
    }
    if (slurmhooks_checksum(0, rest, (size_t)(text + size - rest)) != sum)
        return NULL;
    while (*rest && !ended && !rc) {
        rc = record_next(&rest, &record);
        if (rc || (record.count == 1 && !*record.words[0]))
            continue;
        if (record.count == 1 && !strcmp(record.words[0], "end"))
            ended = 1;
        else
            rc = read_record(&record, &lines);
    }
    /* The contents of hook files follow, which only Python reads. */
    if (rc || !ended) {
        free_lines(lines);
        return NULL;
    }
    *why = "it does not have this line of plugstack.conf";
    return lines;
}
