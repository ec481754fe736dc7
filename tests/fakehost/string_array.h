/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays of strings that end with NULL: environments and argument vectors. */
#ifndef FAKEHOST_STRING_ARRAY_H
#define FAKEHOST_STRING_ARRAY_H

struct strings {
    char **items; /* NULL until something is added */
    int count;
};

/* Append a copy. */
void strings_add(struct strings *strings, const char *text);

/* Insert copies at the beginning. */
void strings_prepend(struct strings *strings, int count, const char *const *texts);

/* Get, set and delete NAME=VALUE. */
const char *strings_get(const struct strings *strings, const char *name);
void strings_set(struct strings *strings, const char *name, const char *value);
void strings_unset(struct strings *strings, const char *name);

#endif
