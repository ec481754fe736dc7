/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin for scrun: a Lua module that defines scrun's staging functions, which call slurmhooks.entry.scrun.
 *
 * scrun has no plugin point for C. It reads scrun.lua (scrun.lua.in), which loads this plugin.
 */
#include <slurm/slurm.h>
#include <slurm/spank.h>

#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "entry.h"
#include "manifest/manifest.h"
#include "scrun/alarm.h"
#include "scrun/container.h"
#include "scrun/turns.h"
#include "scrun/watchdog.h"
#include "stub/stub.h"

#define EXPORTED __attribute__((visibility("default")))

/* The return code for scrun if Python has failed: scrun cancels the container's job. */
#define FAILED SLURM_ERROR
/* What a function returns, instead of a number of results, if the value on top of Lua's stack is to be an error. */
#define RAISED (-1)

/* One call of a function of scrun, see `ask` in container.h. */
struct question {
    const char *function;
    const char *argument;
    int *status;
    char **output;
    size_t *length;
};

/* OUT output, copied: a copy of a text from malloc(), and its length; unchanged or NULL if memory is short. */
static void copy_text(const char *text, size_t length, char **output, size_t *copied)
{
    *output = malloc(length + 1);
    if (!*output)
        return;
    memcpy(*output, text, length);
    (*output)[length] = '\0';
    *copied = length;
}

/*
 * Answer a question. Called through lua_pcall(), since a Lua error is a longjmp, which must not skip Python's stack
 * frames.
 */
static int ask_protected(lua_State *L)
{
    const struct question *question = lua_touserdata(L, 1);

    lua_getglobal(L, "slurm");
    lua_getfield(L, -1, question->function);
    lua_pushstring(L, question->argument);
    lua_call(L, 1, LUA_MULTRET);
    int results = lua_gettop(L) - 2; /* 3: the question and the table are also on the stack */
    if (results > 0 && lua_isnumber(L, 3))
        *question->status = (int)lua_tonumber(L, 3);
    size_t length = 0;
    const char *text = results > 0 ? lua_tolstring(L, -1, &length) : NULL;
    if (text)
        copy_text(text, length, question->output, question->length);
    return 0;
}

/* The bundle's path, if a handler of stage_in has changed it; else NULL. */
static char *moved_bundle;

/* See `ask` in container.h. */
static int ask(struct slurmhooks_container *container, const char *function, const char *argument, int *status,
               char **output, size_t *length)
{
    struct question question = {function, argument, status, output, length};
    lua_State *L = container->lua;
    int top = lua_gettop(L), rc = 0;

    *status = 0;
    *output = NULL;
    *length = 0;
    lua_pushcfunction(L, ask_protected);
    lua_pushlightuserdata(L, &question);
    if (lua_pcall(L, 1, 0, 0)) {
        const char *text = lua_tostring(L, -1);
        text = text ? text : "unknown error";
        copy_text(text, strlen(text), output, length);
        rc = -1;
    } else if (!strcmp(function, "set_bundle_path")) {
        free(moved_bundle);
        moved_bundle = strdup(argument);
    }
    lua_settop(L, top);
    return rc;
}

/*
 * Call upvalue 1, the function of the site's own scrun.lua, with the arguments of this call.
 *
 * Pushes one value onto L: the result, or the error.
 *
 * IN thread  the Lua thread of this call, see container.h
 * IN count   the number of arguments
 * RET 0, or not 0 if the function failed
 */
static int call_site(lua_State *L, lua_State *thread, int count)
{
    luaL_checkstack(L, count + 1, "for the site's own function");
    lua_pushvalue(L, lua_upvalueindex(1));
    for (int i = 1; i <= count; i++)
        lua_pushvalue(L, i);
    lua_xmove(L, thread, count + 1);
    int failed = lua_pcall(thread, count, 1, 0);
    lua_xmove(thread, L, 1);
    return failed;
}

/*
 * Call one of the functions below for scrun. RET the number of results.
 *
 * lua_error() is a longjmp, and skips what is to happen at the end of a function, so it is called last, and only here.
 */
static int finish(lua_State *L, int (*function)(lua_State *L))
{
    int errno_before = errno;
    int results = function(L);

    errno = errno_before;
    return results == RAISED ? lua_error(L) : results;
}

/* RET the return code for scrun. Frees the outcome's message. */
static int return_code(int failed, struct slurmhooks_outcome *outcome)
{
    free(outcome->message);
    return failed ? FAILED : outcome->rc;
}

/*
 * RET the job's environment, from a table that begins at index 0. The array and its strings are owned by Lua's stack.
 */
static const char **read_environment(lua_State *L, int table)
{
    size_t count = 0;
    size_t filled = 0;

    luaL_checktype(L, table, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        count++;
    const char **environment = lua_newuserdata(L, (count + 1) * sizeof(*environment));
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, table, (int)i);
        if (lua_type(L, -1) == LUA_TSTRING)
            environment[filled++] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    environment[filled] = NULL;
    return environment;
}

/* The manifest that records what Python loads for scrun. Otherwise, NULL, Python reads the configuration. */
static const char *manifest;

/* Whether staging in the container has failed, or has not ended yet. */
static int not_staged_in = 1;

/* Run the handlers of stage_in, then the function of the site's own script. */
static int run_stage_in(lua_State *L)
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.scrun", "stage_in", NULL};
    struct slurmhooks_outcome outcome;
    struct slurmhooks_container container = {
        .id = luaL_optstring(L, 1, NULL),
        .bundle = luaL_optstring(L, 2, NULL),
        .spool_dir = luaL_optstring(L, 3, NULL),
        .config_file = luaL_optstring(L, 4, NULL),
        .job_id = (uint32_t)luaL_checknumber(L, 5),
        .user_id = (uint32_t)luaL_checknumber(L, 6),
        .group_id = (uint32_t)luaL_checknumber(L, 7),
        .job_env = read_environment(L, 8),
        /* Not L: scrun may call stage_out on L from another thread while a handler calls a function of scrun. */
        .lua = lua_newthread(L),
        .ask = ask,
    };

    not_staged_in = 1; /* stage_out may be called before this ends */
    turns_begin_in(&container.cancelled);
    int rc = return_code(STUB_CALL(&entry, &outcome, (intptr_t)&container, (intptr_t)manifest), &outcome), failed = 0;
    int has_script = !rc && !container.cancelled && lua_isfunction(L, lua_upvalueindex(1));
    if (has_script) {
        if (moved_bundle) {
            lua_pushstring(L, moved_bundle);
            lua_replace(L, 2);
        }
        failed = call_site(L, container.lua, 8);
    }
    if (turns_end_in()) {
        rc = FAILED;
        has_script = 0;
    }
    not_staged_in = has_script ? failed || lua_tonumber(L, -1) != 0 : rc != 0;
    if (has_script && failed)
        return RAISED;
    if (!has_script)
        lua_pushnumber(L, rc);
    return 1;
}

/* Run the handlers of stage_out and the function of the site's own script, whether or not one fails. */
static int run_stage_out(lua_State *L)
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.scrun", "stage_out", NULL};
    struct slurmhooks_outcome outcome;
    struct slurmhooks_container container = {
        .id = luaL_optstring(L, 1, NULL),
        .bundle = luaL_optstring(L, 2, NULL),
        .orig_bundle = luaL_optstring(L, 3, NULL),
        .root_path = luaL_optstring(L, 4, NULL),
        .orig_root_path = luaL_optstring(L, 5, NULL),
        .spool_dir = luaL_optstring(L, 6, NULL),
        .config_file = luaL_optstring(L, 7, NULL),
        .job_id = (uint32_t)luaL_checknumber(L, 8),
        .user_id = (uint32_t)luaL_checknumber(L, 9),
        .group_id = (uint32_t)luaL_checknumber(L, 10),
        .lua = lua_newthread(L),
        .ask = ask,
    };

    turns_begin_out();
    int rc = return_code(STUB_CALL(&entry, &outcome, (intptr_t)&container, (intptr_t)manifest), &outcome), failed = 0;
    /* Called even if Python has failed: what the site's script has staged in must be staged out. */
    int has_script = lua_isfunction(L, lua_upvalueindex(1));
    if (has_script)
        failed = call_site(L, container.lua, 10);
    watchdog_start(container.spool_dir, not_staged_in);
    turns_end_out();
    if (failed)
        return RAISED;
    if (!has_script || rc)
        lua_pushnumber(L, rc);
    return 1;
}

static int find_script(lua_State *L)
{
    static struct slurmhooks_entry entry = {"slurmhooks.entry.scrun", "script", NULL};
    struct slurmhooks_outcome outcome;
    const char *why;
    const struct manifest_line *line = manifest_find_point(MANIFEST_SCRUN, &why);

    lua_settop(L, 0);
    manifest = line ? line->text : NULL;
    if (line) {
        lua_pushstring(L, line->script);
        return 1;
    }
    slurm_debug("slurmhooks: no hook manifest (%s): Python starts in every scrun; run 'slurmhooks deploy'", why);
    int failed = STUB_CALL(&entry, &outcome) || outcome.rc;
    lua_pushstring(L,
                   failed && !outcome.message ? "slurmhooks: Python did not start; see scrun's log" : outcome.message);
    free(outcome.message);
    return failed ? RAISED : 1;
}

/*
 * Lua function: return the path of the site's own scrun.lua, or nil if there is none.
 *
 * Without a manifest, Python must be asked, so it is started before scrun forks. If the configuration is wrong, this
 * is a Lua error, and scrun ends before it asks for a job: it never starts a container without the site's script.
 */
EXPORTED int slurmhooks_scrun_script(lua_State *L)
{
    return finish(L, find_script);
}

static int slurm_scrun_stage_in(lua_State *L)
{
    return finish(L, run_stage_in);
}

static int slurm_scrun_stage_out(lua_State *L)
{
    return finish(L, run_stage_out);
}

static void *open_core_in_thread(void *unused)
{
    stub_open();
    return unused;
}

/*
 * Runs in each child that scrun forks; the first child is the anchor.
 *
 * Opening libpython takes a millisecond. It is done while the anchor waits for slurmctld to give it a job, so that the
 * container does not wait for it.
 */
static void after_fork_in_child(void)
{
    LEAVES_ERRNO(errno);
    static int done; /* the anchor also forks, to run srun */
    pthread_t thread;
    sigset_t all, old_mask;

    alarm_keep();
    if (done)
        return;
    done = 1;
    sigfillset(&all);
    /* The new thread must not receive signals: scrun's threads handle them. */
    pthread_sigmask(SIG_SETMASK, &all, &old_mask);
    if (!pthread_create(&thread, NULL, open_core_in_thread, NULL))
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
}

/*
 * Lua function, called by scrun.lua: define the staging functions. The arguments are the two functions of the site's
 * own script, or nothing.
 *
 * scrun reads scrun.lua before it forks the anchor, which calls the staging functions. With a manifest, Python starts
 * at the first call, and not earlier in another thread: an anchor that gets too little processor time at its start may
 * run the container without staging it (anchor.c:_on_startup_con; 3 of 16 containers on a busy machine, with 26.05).
 */
EXPORTED int luaopen_scrun_python(lua_State *L)
{
    LEAVES_ERRNO(errno);
    lua_settop(L, 2);
    lua_pushcclosure(L, slurm_scrun_stage_out, 1);
    lua_setglobal(L, "slurm_scrun_stage_out");
    lua_pushcclosure(L, slurm_scrun_stage_in, 1);
    lua_setglobal(L, "slurm_scrun_stage_in");
    pthread_atfork(NULL, NULL, after_fork_in_child);
    return 0;
}
