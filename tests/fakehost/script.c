/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static struct line *lines;
static int length;

static int hex(const char *digits)
{
    char text[3] = {digits[0], digits[0] ? digits[1] : '\0', '\0'};

    return (int)strtol(text, NULL, 16);
}

/* Read the next word of a text, in place. IN/OUT text: the rest of the text. RET the word, or NULL at the end. */
static char *next_word(char **text)
{
    char *in = *text + strspn(*text, " \t\n");
    char *word = in, *out = in;
    bool quoted = false;

    if (!*in)
        return NULL;
    for (; *in && (quoted || !isspace((unsigned char)*in)); in++) {
        if (*in == '"') {
            quoted = !quoted;
        } else if (in[0] == '\\' && in[1] == 'x') {
            *out++ = (char)hex(in + 2);
            in += 3;
        } else if (in[0] == '\\' && in[1]) {
            *out++ = *++in;
        } else {
            *out++ = *in;
        }
    }
    *text = *in ? in + 1 : in;
    *out = '\0';
    return word;
}

void script_add(const char *text)
{
    struct line line = {0, NULL};
    char *copy = strdup(text), *rest = copy, *word;

    while ((word = next_word(&rest))) {
        if (!line.count && *word == '#')
            break;
        line.words = realloc(line.words, (line.count + 1) * sizeof(*line.words));
        line.words[line.count++] = word;
    }
    if (!line.count) {
        free(copy);
        return;
    }
    lines = realloc(lines, (length + 1) * sizeof(*lines));
    lines[length++] = line;
}

void script_add_file(const char *path)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
    char *text = NULL;
    size_t size = 0;

    if (!file) {
        perror(path);
        exit(2);
    }
    while (getline(&text, &size, file) >= 0)
        script_add(text);
    free(text);
    if (file != stdin)
        fclose(file);
}

int script_length(void)
{
    return length;
}

const struct line *script_line(int number)
{
    return &lines[number];
}

struct block script_block(int number)
{
    int depth = 1, to = number + 1;

    for (; to < length; to++) {
        if (command_has_block(lines[to].words[0]))
            depth++;
        else if (!strcmp(lines[to].words[0], "end") && !--depth)
            return (struct block){number + 1, to};
    }
    script_wrong(&lines[number], "its block has no `end`");
}

const char *line_value(const struct line *line, const char *key)
{
    size_t size = strlen(key);

    for (int i = 1; i < line->count; i++)
        if (!strncmp(line->words[i], key, size) && line->words[i][size] == '=')
            return line->words[i] + size + 1;
    return NULL;
}

void script_wrong(const struct line *line, const char *why)
{
    fprintf(stderr, "fakehost: %s: %s\n", line->words[0], why);
    exit(2);
}
