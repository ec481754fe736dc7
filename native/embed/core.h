/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The border between the plugins and Python: one shared library with one call.
 *
 * Plugins are not linked to libpython, so that a process without a handler never maps it. The first event that needs
 * Python opens this library (stub/stub.c). It is linked to libpython, and owns everything that exists once per process:
 * interpreter, event lock, fork handling.
 */
#ifndef SLURMHOOKS_EMBED_CORE_H
#define SLURMHOOKS_EMBED_CORE_H

#include <stdint.h>

/*
 * Increase it when the structs or the meaning of the call change: a plugin and the core library in the same directory
 * may come from different builds, and must detect this.
 */
#define SLURMHOOKS_CORE_ABI 4

/* What an entry point in Python returns: a tuple (rc, message, detail). */
struct slurmhooks_outcome {
    int rc;        /* the return code for Slurm; valid only if the call returned 0 */
    char *message; /* text for the user, or NULL; from malloc(), freed by the caller */
    long detail;   /* the meaning depends on the entry point */
};

/* A Python function that a plugin may call, in a module of slurmhooks/entry. */
struct slurmhooks_entry {
    const char *module;
    const char *function;
    void *cached; /* NULL at first; then the function, owned by the core library */
};

/*
 * Call an entry point while no other event runs. Starts Python if needed.
 *
 * IN entry      the function
 * OUT outcome   filled if 0 is returned; else zeroed
 * IN arguments  numbers and addresses, each passed to Python as an int
 * IN count      the number of arguments
 * RET 0, or -1 with the reason in Slurm's log: Python did not start, the function raised, or its result was invalid.
 *     The caller then returns its own failure code to Slurm, for which 0 means success.
 */
typedef int (*slurmhooks_call_f)(struct slurmhooks_entry *entry, struct slurmhooks_outcome *outcome,
                                 const intptr_t *arguments, int count);

struct slurmhooks_core {
    int abi;
    slurmhooks_call_f call;
};

/* The only symbol that a plugin looks up, and its name. */
extern const struct slurmhooks_core slurmhooks_core;
#define SLURMHOOKS_CORE_SYMBOL "slurmhooks_core"

#endif
