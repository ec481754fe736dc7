/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_MANIFEST_PARSE_H
#define SLURMHOOKS_MANIFEST_PARSE_H

#include "manifest/manifest.h"

/*
 * Read a manifest from memory.
 *
 * IN text  the content, with room for a NUL at text[size]; is modified, and must outlive the result
 * OUT why if NULL is returned: the reason; else the reason to give for a line that is not in the list
 * RET a list of lines, the last one of the manifest first; NULL if the text is damaged, or of another build
 */
struct manifest_line *manifest_parse(char *text, size_t size, const char **why);

#endif
