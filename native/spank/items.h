/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_get_item() takes what each item wants; these fix the two shapes there are. */
#ifndef SLURMHOOKS_ITEMS_H
#define SLURMHOOKS_ITEMS_H

/* One or two results; a second pointer that an item does not take is not read. */
static inline int slurmhooks_get_item(struct spank_handle *spank, int item, void *first, void *second)
{
    return spank_get_item(spank, (spank_item_t)item, first, second);
}

/* The items that turn a pid or a task id into another. */
static inline int slurmhooks_convert(struct spank_handle *spank, int item, uint32_t from, void *to)
{
    return spank_get_item(spank, (spank_item_t)item, from, to);
}

#endif
