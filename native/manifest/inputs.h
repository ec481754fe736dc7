/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the files that a manifest was made from with what the manifest recorded about them. */
#ifndef SLURMHOOKS_MANIFEST_INPUTS_H
#define SLURMHOOKS_MANIFEST_INPUTS_H

#include "manifest/record.h"

/* One function for each kind of record. RET 0: unchanged; 1: changed; -1: the record is damaged. */
int input_file(const struct record *record);
int input_absent(const struct record *record);
int input_glob(const struct record *record);

#endif
