/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The border between the stubs and Python: one shared library, one call.
 *
 * A stub is small and does not name libpython, so that a process without a
 * handler never maps it. The first event that needs Python opens the core
 * library (stub/stub.c), which is linked to libpython and holds everything
 * that is true once a process: the interpreter, the event lock, fork handling.
 */
#ifndef SLURMHOOKS_EMBED_CORE_H
#define SLURMHOOKS_EMBED_CORE_H

#include <stdint.h>

/* Changes whenever the two structs or the call's meaning do: stub and core of
 * two builds in one directory must not be mixed silently. */
#define SLURMHOOKS_CORE_ABI 3

/* What an entry point in Python hands back: a tuple (rc, message, detail). */
struct slurmhooks_answer {
    int rc;        /* the value for Slurm; meaningful only if the call returned 0 */
    char *message; /* text for the user or NULL; malloc'ed, the caller frees */
    long detail;   /* meaning is the entry point's own */
};

/* One Python function that a stub may call: slurmhooks.<point>.entry.<name>. */
struct slurmhooks_entry {
    const char *module;
    const char *function;
    void *cached; /* owned by the core: NULL at first */
};

/*
 * Call an entry point, under the lock that serialises events in this process.
 *
 * IN entry     which function
 * OUT answer   filled if 0 is returned
 * IN arguments each passed to Python as an int (numbers and addresses)
 * IN count     how many
 * RET 0, or -1: Python did not start, the function raised or answered with
 *     something else than it must; the reason is in Slurm's log. The caller
 *     then returns its own failure code: 0 would mean "accepted" to Slurm.
 */
typedef int (*slurmhooks_call_f)(struct slurmhooks_entry *entry, struct slurmhooks_answer *answer,
                                 const intptr_t *arguments, int count);

struct slurmhooks_core {
    int abi;
    slurmhooks_call_f call;
};

/* The one symbol that a stub looks up, and its name. */
extern const struct slurmhooks_core slurmhooks_core;
#define SLURMHOOKS_CORE_SYMBOL "slurmhooks_core"

#endif
