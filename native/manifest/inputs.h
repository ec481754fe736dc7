/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the files that a manifest was made from are as they were. */
#ifndef SLURMHOOKS_MANIFEST_INPUTS_H
#define SLURMHOOKS_MANIFEST_INPUTS_H

#include "manifest/record.h"

/* Each judges one kind of record. RET 0: as it was; 1: it has changed; -1: the record is damaged. */
int input_file(const struct record *record);
int input_absent(const struct record *record);
int input_glob(const struct record *record);

#endif
