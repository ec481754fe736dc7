/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "string_array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void resize(struct strings *strings, int count)
{
    strings->items = realloc(strings->items, (size_t)(count + 1) * sizeof(*strings->items));
    if (!strings->items)
        abort();
    strings->items[count] = NULL;
    strings->count = count;
}

void strings_add(struct strings *strings, const char *text)
{
    resize(strings, strings->count + 1);
    strings->items[strings->count - 1] = strdup(text);
}

void strings_prepend(struct strings *strings, int count, const char *const *texts)
{
    int old = strings->count;

    resize(strings, old + count);
    if (old)
        memmove(strings->items + count, strings->items, (size_t)old * sizeof(*strings->items));
    for (int i = 0; i < count; i++)
        strings->items[i] = strdup(texts[i]);
}

static int find(const struct strings *strings, const char *name)
{
    size_t size = strlen(name);

    for (int i = 0; i < strings->count; i++)
        if (!strncmp(strings->items[i], name, size) && strings->items[i][size] == '=')
            return i;
    return -1;
}

const char *strings_get(const struct strings *strings, const char *name)
{
    int index = find(strings, name);

    return index < 0 ? NULL : strings->items[index] + strlen(name) + 1;
}

void strings_set(struct strings *strings, const char *name, const char *value)
{
    char *text;

    strings_unset(strings, name);
    if (asprintf(&text, "%s=%s", name, value) < 0)
        abort();
    resize(strings, strings->count + 1);
    strings->items[strings->count - 1] = text;
}

void strings_unset(struct strings *strings, const char *name)
{
    int index = find(strings, name);

    if (index < 0)
        return;
    free(strings->items[index]);
    /* With the NULL at the end. */
    memmove(strings->items + index, strings->items + index + 1,
            (size_t)(strings->count - index) * sizeof(*strings->items));
    strings->count--;
}
