/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Lua module that defines scrun's two staging functions and hands them to slurmhooks.scrun.entry.
 * scrun has no C plugin point: it reads scrun.lua, and that loads this.
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

#include "manifest/manifest.h"
#include "scrun/alarm.h"
#include "scrun/container.h"
#include "scrun/turns.h"
#include "scrun/watchdog.h"
#include "stub/stub.h"

/* What scrun gets when Python has no answer: the container's job is cancelled. */
#define FAILED SLURM_ERROR

struct question {
    const char *function;
    const char *argument;
    int *status;
    char **output;
    size_t *length;
};

static void copy_text(const char *text, size_t length, char **output, size_t *copied)
{
    *output = malloc(length + 1);
    if (!*output)
        return;
    memcpy(*output, text, length);
    (*output)[length] = '\0';
    *copied = length;
}

/* Runs under lua_pcall: Lua raises by longjmp, which must not cross Python's frames. */
static int ask_protected(lua_State *L)
{
    const struct question *question = lua_touserdata(L, 1);

    lua_getglobal(L, "slurm");
    lua_getfield(L, -1, question->function);
    lua_pushstring(L, question->argument);
    lua_call(L, 1, LUA_MULTRET);
    int results = lua_gettop(L) - 2; /* behind the question and the table */
    if (results > 0 && lua_isnumber(L, 3))
        *question->status = (int)lua_tonumber(L, 3);
    size_t length = 0;
    const char *text = results > 0 ? lua_tolstring(L, -1, &length) : NULL;
    if (text)
        copy_text(text, length, question->output, question->length);
    return 0;
}

/* Where a handler moved the bundle in this stage_in; NULL if none did. */
static char *moved_bundle;

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
        text = text ? text : "error of unknown kind";
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
 * Call the function of the site's own scrun.lua, which is upvalue 1, with the first arguments of this call.
 *
 * IN thread  a Lua thread for this call alone, see struct slurmhooks_container
 * OUT  one value on L: its result, or the error
 * RET true if it failed
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

static int read_answer(int failed, struct slurmhooks_answer *answer)
{
    free(answer->message);
    return failed ? FAILED : answer->rc;
}

/* scrun fills the table from index 0; its strings, and the array returned, stay alive on Lua's stack. */
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

/* Whether the manifest says what to load; if not, Python reads the configuration. */
static int known;

/* Unless stage_in has given scrun its success. */
static int not_staged_in = 1;

static int stage_in(lua_State *L)
{
    static struct slurmhooks_entry entry = {"slurmhooks.scrun.entry", "stage_in", NULL};
    struct slurmhooks_answer answer;
    struct slurmhooks_container container = {
        .id = luaL_optstring(L, 1, NULL),
        .bundle = luaL_optstring(L, 2, NULL),
        .spool_dir = luaL_optstring(L, 3, NULL),
        .config_file = luaL_optstring(L, 4, NULL),
        .job_id = (uint32_t)luaL_checknumber(L, 5),
        .user_id = (uint32_t)luaL_checknumber(L, 6),
        .group_id = (uint32_t)luaL_checknumber(L, 7),
        .job_env = read_environment(L, 8),
        /* Not L itself: stage_out may come in on L, from another thread, while a question is under way. */
        .lua = lua_newthread(L),
        .ask = ask,
    };

    not_staged_in = 1; /* stage_out may come before this ends */
    turns_begin_in(&container.cancelled);
    int rc = read_answer(STUB_CALL(&entry, &answer, (intptr_t)&container, known), &answer), failed = 0;
    int site = !rc && !container.cancelled && lua_isfunction(L, lua_upvalueindex(1));
    if (site) {
        if (moved_bundle) {
            lua_pushstring(L, moved_bundle);
            lua_replace(L, 2);
        }
        failed = call_site(L, container.lua, 8);
    }
    if (turns_end_in()) {
        rc = FAILED;
        site = 0;
    }
    not_staged_in = site ? failed || lua_tonumber(L, -1) != 0 : rc != 0;
    if (site && failed)
        return lua_error(L);
    if (!site)
        lua_pushnumber(L, rc);
    return 1;
}

static int stage_out(lua_State *L)
{
    static struct slurmhooks_entry entry = {"slurmhooks.scrun.entry", "stage_out", NULL};
    struct slurmhooks_answer answer;
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
    int rc = read_answer(STUB_CALL(&entry, &answer, (intptr_t)&container, known), &answer), failed = 0;
    /* Also after a failure of Python's: what the script staged in is to come back. */
    int site = lua_isfunction(L, lua_upvalueindex(1));
    if (site)
        failed = call_site(L, container.lua, 10);
    watchdog_start(container.spool_dir, not_staged_in);
    turns_end_out();
    if (failed)
        return lua_error(L);
    if (!site || rc)
        lua_pushnumber(L, rc);
    return 1;
}

/*
 * Return the path of the site's own scrun.lua, or nothing if it has none. Without a manifest Python is asked, and then
 * runs before scrun forks. What is wrong with the configuration is an error, with which scrun ends before it asks for a
 * job: a site's script is never left out.
 */
__attribute__((visibility("default"))) int slurmhooks_scrun_script(lua_State *L)
{
    static struct slurmhooks_entry entry = {"slurmhooks.scrun.entry", "script", NULL};
    struct slurmhooks_answer answer;
    const char *why;
    const struct manifest_line *line = manifest_find_point(MANIFEST_SCRUN, &why);

    lua_settop(L, 0);
    known = line != NULL;
    if (line) {
        lua_pushstring(L, line->script);
        return 1;
    }
    slurm_debug("slurmhooks: no hook manifest (%s): Python starts in every scrun; run 'slurmhooks compile'", why);
    int failed = STUB_CALL(&entry, &answer) || answer.rc;
    lua_pushstring(L, failed && !answer.message ? "slurmhooks: Python did not start; see the log" : answer.message);
    free(answer.message);
    return failed ? lua_error(L) : 1;
}

static void *open_core(void *unused)
{
    stub_open();
    return unused;
}

/*
 * In the child of scrun's fork, which is the anchor: it asks slurmctld for a job now, and waits. To open libpython
 * takes a millisecond, which the container then need not wait for.
 */
static void in_anchor(void)
{
    static int done; /* the anchor's own children run srun */
    pthread_t thread;
    sigset_t all, before;

    alarm_keep();
    if (done)
        return;
    done = 1;
    sigfillset(&all);
    /* Signals are for scrun's own threads. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, open_core, NULL))
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Only defines the functions: scrun reads scrun.lua before it forks the process that will call them, so with a
 * manifest Python starts at the first call. By then its library is open, but Python does not start beside scrun: an
 * anchor that has less of the processor while it comes up may take the job's arrival for the end of creating, and runs
 * the container without staging it (anchor.c:_on_startup_con; 3 of 16 on a busy machine, with 26.05). The arguments are
 * the two functions of the site's own script, or nothing.
 */
__attribute__((visibility("default"))) int luaopen_scrun_python(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushcclosure(L, stage_out, 1);
    lua_setglobal(L, "slurm_scrun_stage_out");
    lua_pushcclosure(L, stage_in, 1);
    lua_setglobal(L, "slurm_scrun_stage_in");
    pthread_atfork(NULL, NULL, in_anchor);
    return 0;
}
