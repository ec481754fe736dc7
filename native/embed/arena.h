/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_EMBED_ARENA_H
#define SLURMHOOKS_EMBED_ARENA_H

/* Place the first arenas side by side. Called once, before Python starts. */
void arena_install(void);

#endif
