/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLURMHOOKS_LUA_PARTITIONS_H
#define SLURMHOOKS_LUA_PARTITIONS_H

#include "view.h"

/* Take (rows, offset of the name, address of find, address of fill). RET 0, or -1 with an exception. */
int lua_partitions_use(PyObject *arguments);

/* Which call of a script it is, from 1 on; 0: none runs. In lua.c. */
unsigned long lua_call_number(void);

/* Whose job the running call is about, and who sent the request. RET false: none runs. In lua.c. */
bool lua_whose_call(uint32_t *owner, uint32_t *uid);

#endif
