/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/parse.h"

#include <slurm/slurm_version.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "manifest/inputs.h"
#include "manifest/record.h"

static int index_of(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

/* RET the index in manifest_line.calls of a function, or -1 if the plugin point has no such one. */
static int call_of(const struct manifest_line *line, const char *name)
{
#define NAME(name) #name,
    static const char *const callbacks[] = {SLURMHOOKS_CALLBACKS(NAME)};
    static const char *const filters[] = {SLURMHOOKS_FILTERS(NAME)};

    if (line->argc == MANIFEST_CLI_FILTER)
        return index_of(name, filters, FILTER_COUNT);
    return line->argc < 0 ? -1 : index_of(name, callbacks, CALLBACK_COUNT);
}

/* RET the plugin point that a record begins, or 0. */
static int point_of(const char *what)
{
    return !strcmp(what, "scrun") ? MANIFEST_SCRUN : !strcmp(what, "cli_filter") ? MANIFEST_CLI_FILTER : 0;
}

/* POINT: what follows is of that plugin point. RET NULL if it is damaged, or memory is short. */
static struct manifest_line *add_point(const struct record *record, struct manifest_line *before)
{
    struct manifest_line *line = record->count == 1 ? calloc(1, sizeof(*line)) : NULL;

    if (!line)
        return NULL;
    line->argc = point_of(record->words[0]);
    line->next = before;
    return line;
}

/* script PATH */
static int set_script(const struct record *record, struct manifest_line *line)
{
    if (record->count != 2 || line->script)
        return -1;
    line->script = record->words[1];
    return 0;
}

static struct manifest_line *add_line(const struct record *record, struct manifest_line *before)
{
    struct manifest_line *line = calloc(1, sizeof(*line) + (size_t)record->count * sizeof(*line->argv));

    if (!line)
        return NULL;
    line->argc = record->count - 1;
    for (int i = 0; i < line->argc; i++)
        line->argv[i] = record->words[i + 1];
    line->next = before;
    return line;
}

/* call FUNCTION CONTEXTS */
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

/* option HAS_ARG CONTEXTS CHECKED NAME ARGINFO USAGE; ARGINFO is empty where there is none */
static int add_option(const struct record *record, struct manifest_line *line)
{
    uint64_t has_arg, contexts, checked;

    if (record->count != 7 || record_number(record->words[1], 2, &has_arg) ||
        record_number(record->words[2], 63, &contexts) || record_number(record->words[3], 1, &checked) ||
        !*record->words[4] || line->option_count == MOST_OPTIONS)
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

/* Take one record. RET 0; 1 if it says that the manifest does not match; -1 if it is damaged. */
static int take(const struct record *record, struct manifest_line **lines)
{
    const char *what = record->words[0];

    if (!strcmp(what, "file"))
        return input_file(record);
    if (!strcmp(what, "absent"))
        return input_absent(record);
    if (!strcmp(what, "glob"))
        return input_glob(record);
    if (!strcmp(what, "line") || point_of(what)) {
        struct manifest_line *added = point_of(what) ? add_point(record, *lines) : add_line(record, *lines);
        if (!added)
            return -1;
        *lines = added;
        return 0;
    }
    if (!*lines)
        return -1;
    int scrun = (*lines)->argc == MANIFEST_SCRUN;
    if (!strcmp(what, "call"))
        return add_call(record, *lines);
    if ((*lines)->argc >= 0 && !strcmp(what, "option"))
        return add_option(record, *lines);
    if (scrun && !strcmp(what, "script"))
        return set_script(record, *lines);
    /* What Python needs to load the line; see slurmhooks/manifest.py. */
    return !strcmp(what, "source") || !strcmp(what, "module") || !strcmp(what, "log") ||
                   (!scrun && !strcmp(what, "lua"))
               ? 0
               : -1;
}

/* slurmhooks-manifest 2 0xVERSION, of this very Slurm */
static int check_header(const struct record *record)
{
    unsigned version;

    if (record->count != 3 || strcmp(record->words[0], "slurmhooks-manifest") || strcmp(record->words[1], "2") ||
        record_hex_number(record->words[2], &version))
        return -1;
    return version == SLURM_VERSION_NUMBER ? 0 : -1;
}

struct manifest_line *manifest_parse(char *text, size_t size, const char **why)
{
    struct manifest_line *lines = NULL;
    struct record record;
    char *rest = text;
    int ended = 0, rc = 0;

    *why = "it is damaged";
    text[size] = '\0';
    if (record_next(&rest, &record) || !*rest)
        return NULL;
    if (check_header(&record)) {
        *why = "it is of another version of slurmhooks or Slurm";
        return NULL;
    }
    while (*rest && !ended && !rc) {
        if (*rest == '#') {
            while (*rest && *rest != '\n')
                rest++;
            rest += *rest != '\0';
            continue;
        }
        rc = record_next(&rest, &record);
        if (rc || (record.count == 1 && !*record.words[0]))
            continue;
        if (record.count == 1 && !strcmp(record.words[0], "end"))
            ended = 1;
        else
            rc = take(&record, &lines);
    }
    if (rc > 0)
        *why = "a file that it was made from has changed";
    /* Nothing may follow the end, and a NUL within ends the text too early. */
    if (rc || !ended || rest != text + size) {
        free_lines(lines);
        return NULL;
    }
    *why = "it has no such line of plugstack.conf";
    return lines;
}
