/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of scripts, which README.md describes. main.c has the table of their names. */
#ifndef FAKEHOST_COMMAND_H
#define FAKEHOST_COMMAND_H

#include <stdbool.h>

#include "script.h"

/* plugin.c */
void command_peek(const struct line *line);
void command_load(const struct line *line);
void command_open(const struct line *line);
void command_close(const struct line *line);
void command_init(const struct line *line);
void command_fini(const struct line *line);

/* spank_calls.c */
void command_context(const struct line *line);
void command_job(const struct line *line);
void command_call(const struct line *line);
void command_option(const struct line *line);
void command_show(const struct line *line);

/* job_submit.c */
void command_job_submit(const struct line *line);
void command_job_modify(const struct line *line);
void command_await_worker(const struct line *line);

/* jobcomp.c */
void command_conf(const struct line *line);
void command_job_end(const struct line *line);
void command_job_start(const struct line *line);
void command_set_location(const struct line *line);
void command_get_jobs(const struct line *line);

/* points.c */
void command_enter(const struct line *line);

/* scrun.c */
void command_lua(const struct line *line);
void command_lua_function(const struct line *line);
void command_stage_in(const struct line *line);
void command_stage_out(const struct line *line);

/* manifest.c */
void command_damage_manifest(const struct line *line);
void command_read_manifest(const struct line *line);

/* wire.c */
void command_pack(const struct line *line);
void command_pack_whole(const struct line *line);
void command_pack_member(const struct line *line);
void command_apply(const struct line *line);
void command_damage_answer(const struct line *line);

/* process.c */
void command_fork(const struct line *line, struct block block);
void command_clone(const struct line *line, struct block block);
void command_threads(const struct line *line, struct block block);
void command_background(const struct line *line, struct block block);
void command_join(const struct line *line);
void command_until(const struct line *line, struct block block);
void command_repeat(const struct line *line, struct block block);
void command_atexit(const struct line *line, struct block block);
void command_await(const struct line *line);
void command_touch(const struct line *line);
void command_rename(const struct line *line);
void command_close_fd(const struct line *line);
void command_getenv(const struct line *line);
void command_balance(const struct line *line);
void command_mapped(const struct line *line);
void command_await_mapped(const struct line *line);
void command_faults(const struct line *line);

/* process.c: wait a moment. IN waited: how often the caller has waited; after 30 s the script fails. */
void wait_a_little(const struct line *line, int waited);

/* main.c: run the lines of a block. */
void run_block(struct block block);

/* main.c: RET whether a command has a block of lines up to `end`. */
bool command_has_block(const char *name);

#endif
