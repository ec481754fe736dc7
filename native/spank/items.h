/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_get_item() is variadic. These are its two forms, with argument types that cffi can convert to. */
#ifndef SLURMHOOKS_ITEMS_H
#define SLURMHOOKS_ITEMS_H

/* Get an item with one or two results; if it has one, Slurm does not use the second pointer. */
static inline int slurmhooks_get_item(struct spank_handle *spank, int item, void *first, void *second)
{
    return spank_get_item(spank, (spank_item_t)item, first, second);
}

/* Get an item that converts a pid or a task id into another one. */
static inline int slurmhooks_convert(struct spank_handle *spank, int item, uint32_t from, void *to)
{
    return spank_get_item(spank, (spank_item_t)item, from, to);
}

#endif
