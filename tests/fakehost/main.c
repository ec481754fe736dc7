/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stand-in for Slurm's programs: loads the plugins as Slurm does, and makes the calls that a script lists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "output.h"

struct command {
    const char *name;
    int words; /* the minimum number of words, including the name */
    void (*run)(const struct line *line);
    void (*run_block)(const struct line *line, struct block block);
};

static const struct command commands[] = {
    {"peek", 2, command_peek, NULL},
    {"load", 3, command_load, NULL},
    {"open", 3, command_open, NULL},
    {"close", 2, command_close, NULL},
    {"init", 2, command_init, NULL},
    {"fini", 2, command_fini, NULL},
    {"context", 2, command_context, NULL},
    {"job", 2, command_job, NULL},
    {"call", 3, command_call, NULL},
    {"option", 3, command_option, NULL},
    {"show", 1, command_show, NULL},
    {"damage_manifest", 2, command_damage_manifest, NULL},
    {"read_manifest", 2, command_read_manifest, NULL},
    {"job_submit", 2, command_job_submit, NULL},
    {"job_modify", 2, command_job_modify, NULL},
    {"await_worker", 1, command_await_worker, NULL},
    {"conf", 3, command_conf, NULL},
    {"job_end", 2, command_job_end, NULL},
    {"job_start", 2, command_job_start, NULL},
    {"set_location", 2, command_set_location, NULL},
    {"get_jobs", 2, command_get_jobs, NULL},
    {"enter", 3, command_enter, NULL},
#ifdef FAKEHOST_LUA
    {"lua", 2, command_lua, NULL},
    {"lua_function", 3, command_lua_function, NULL},
    {"stage_in", 1, command_stage_in, NULL},
    {"stage_out", 1, command_stage_out, NULL},
#endif
    {"pack", 2, command_pack, NULL},
    {"pack_member", 3, command_pack_member, NULL},
    {"pack_whole", 2, command_pack_whole, NULL},
    {"apply", 2, command_apply, NULL},
    {"damage_answer", 2, command_damage_answer, NULL},
    {"fork", 1, NULL, command_fork},
    {"clone", 1, NULL, command_clone},
    {"threads", 2, NULL, command_threads},
    {"background", 1, NULL, command_background},
    {"join", 1, command_join, NULL},
    {"until", 2, NULL, command_until},
    {"repeat", 2, NULL, command_repeat},
    {"atexit", 1, NULL, command_atexit},
    {"await", 2, command_await, NULL},
    {"touch", 2, command_touch, NULL},
    {"rename", 3, command_rename, NULL},
    {"close_fd", 2, command_close_fd, NULL},
    {"getenv", 2, command_getenv, NULL},
    {"balance", 1, command_balance, NULL},
    {"mapped", 2, command_mapped, NULL},
    {"await_mapped", 2, command_await_mapped, NULL},
    {"faults", 1, command_faults, NULL},
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

bool command_has_block(const char *name)
{
    const struct command *command = find(name);

    return command && command->run_block;
}

void run_block(struct block block)
{
    for (int number = block.from; number < block.to; number++) {
        const struct line *line = script_line(number);
        const struct command *command = find(line->words[0]);

        if (!command)
            script_wrong(line, "no such command");
        if (line->count < command->words)
            script_wrong(line, "too few words");
        if (command->run) {
            command->run(line);
        } else {
            struct block inner = script_block(number);
            command->run_block(line, inner);
            number = inner.to;
        }
    }
}

int main(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "o:f:")) != -1) {
        switch (option) {
        case 'o': output_to_file(optarg); break;
        case 'f': script_add_file(optarg); break;
        default: fprintf(stderr, "usage: fakehost [-o FILE] [-f FILE] [COMMAND...]\n"); return 2;
        }
    }
    for (int i = optind; i < argc; i++)
        script_add(argv[i]);
    run_block((struct block){0, script_length()});
    return 0;
}
