/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes valid and damaged manifests to native/manifest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "manifest/parse.h"
#include "output.h"

struct parsed {
    struct parsed *next;
    char *text;
    struct manifest_line *lines;
};

/* Parsed manifests are not freed, as in the plugins. The list keeps them from being reported as leaks. */
static struct parsed *list;

/* Parse a copy in a block of its exact size, for AddressSanitizer. RET the new head of the list. */
static struct parsed *parse_copy(const char *text, size_t size, const char **why)
{
    struct parsed *parsed = malloc(sizeof(*parsed));

    *parsed = (struct parsed){list, malloc(size + 1), NULL};
    memcpy(parsed->text, text, size);
    parsed->lines = manifest_parse(parsed->text, size, why);
    list = parsed;
    return parsed;
}

static int parse(const char *text, size_t size)
{
    const char *why;

    return parse_copy(text, size, &why)->lines != NULL;
}

static void show_line(const struct manifest_line *line)
{
    FILE *result = output_begin("manifest_line");

    for (int i = 0; i < line->argc; i++)
        output_text(result, "argv", line->argv[i]);
    if (line->argc < 0) {
        output_number(result, "point", line->argc);
        output_text(result, "script", line->script);
    }
    for (int i = 0; i < CALLBACK_COUNT; i++)
        output_number(result, "calls", line->calls[i]);
    for (int i = 0; i < line->option_count; i++) {
        const struct manifest_option *option = &line->options[i];
        output_text(result, "option", option->name);
        output_text(result, "arginfo", option->arginfo);
        output_text(result, "usage", option->usage);
        output_number(result, "has_arg", option->has_arg);
        output_number(result, "contexts", option->contexts);
        output_number(result, "checked", option->checked);
    }
    output_end(result);
}

static char *read_file(const struct line *line, size_t *size)
{
    FILE *file = fopen(line->words[1], "re");
    char *text = malloc(1 << 16);

    if (!file || !text)
        script_wrong(line, "cannot read it");
    *size = fread(text, 1, 1 << 16, file);
    fclose(file);
    return text;
}

/* Parse the manifest as it is, cut off at each byte, and with each byte replaced by each of a few others. */
void command_damage_manifest(const struct line *line)
{
    static const char bytes[] = {'\0', '\n', ' ', '%', '#', '0', '9', 'F', '-', '\x7f', '\xff'};
    size_t size;
    char *text = read_file(line, &size);
    int whole = parse(text, size), cut = 0, changed = 0;

    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        cut += parse(text, i);
        for (size_t k = 0; k < sizeof(bytes); k++) {
            text[i] = bytes[k];
            changed += bytes[k] != byte && parse(text, size);
        }
        text[i] = byte;
    }
    FILE *result = output_begin("damage_manifest");
    output_number(result, "whole", whole);
    output_number(result, "cut", cut);
    output_number(result, "changed", changed);
    output_end(result);
    free(text);
}

/* Show what is read from a manifest; the last line of plugstack.conf comes first. */
void command_read_manifest(const struct line *line)
{
    const char *why;
    size_t size;
    char *text = read_file(line, &size);
    struct parsed *parsed = parse_copy(text, size, &why);
    FILE *result = output_begin("read_manifest");

    output_number(result, "valid", parsed->lines != NULL);
    output_text(result, "why", why);
    output_end(result);
    for (const struct manifest_line *each = parsed->lines; each; each = each->next)
        show_line(each);
    free(text);
}
