/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_MANIFEST_PARSE_H
#define SLURMHOOKS_MANIFEST_PARSE_H

#include "manifest/manifest.h"

/*
 * Read a manifest from memory; for manifest_find() and the tests that feed it nonsense.
 *
 * IN text  the content, written to; must outlive what is returned
 * OUT why  if NULL is returned
 * RET the lines, or NULL if the text is damaged or does not match the files
 */
struct manifest_line *manifest_parse(char *text, size_t size, const char **why);

#endif
