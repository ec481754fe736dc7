/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Environments and argument vectors: arrays of strings with NULL at the end. */
#ifndef FAKEHOST_STRING_ARRAY_H
#define FAKEHOST_STRING_ARRAY_H

struct strings {
    char **items; /* never NULL once something was added */
    int count;
};

/* Append a copy. */
void strings_add(struct strings *strings, const char *text);

/* Put copies before what is there. */
void strings_prepend(struct strings *strings, int count, const char *const *texts);

/* As an environment of NAME=VALUE: get, set, delete. */
const char *strings_get(const struct strings *strings, const char *name);
void strings_set(struct strings *strings, const char *name, const char *value);
void strings_unset(struct strings *strings, const char *name);

#endif
