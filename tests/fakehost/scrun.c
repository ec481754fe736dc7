/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and calls scrun.lua as scrun does (src/scrun/lua.c): the Lua state, the `slurm` table, the staging functions.
 */
#include <slurm/slurm_errno.h>

#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "output.h"
#include "plugin.h"

static lua_State *L;

/* Properties of the container that functions of the slurm table can change. */
static char *bundle, *root_path;

static void keep(char **place, const char *text)
{
    free(*place);
    *place = text ? strdup(text) : NULL;
}

static int set_bundle_path(lua_State *state)
{
    keep(&bundle, lua_tostring(state, -1));
    lua_pushstring(state, "/orig/bundle");
    return 1;
}

static int set_root_path(lua_State *state)
{
    keep(&root_path, lua_tostring(state, -1));
    lua_pushstring(state, "/orig/root");
    return 1;
}

/* run_command(): scrun forks a process while Python runs. */
static int command(lua_State *state)
{
    const char *text = lua_tostring(state, -1);
    char output[4096];
    size_t filled = 0;
    ssize_t count;
    int ends[2], status = 0;

    if (pipe(ends))
        return luaL_error(state, "pipe failed");
    pid_t child = fork();
    if (child < 0)
        return luaL_error(state, "fork failed");
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "/bin/sh", "-c", text, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while ((count = read(ends[0], output + filled, sizeof(output) - filled)) > 0)
        filled += (size_t)count;
    close(ends[0]);
    waitpid(child, &status, 0);
    lua_pushnumber(state, WEXITSTATUS(status));
    lua_pushlstring(state, output, filled);
    return 2;
}

/* slurm.log_NAME(format, ...). The level is an upvalue. */
static int log_line(lua_State *state)
{
    int count = lua_gettop(state);

    lua_getglobal(state, "string");
    lua_getfield(state, -1, "format");
    for (int i = 1; i <= count; i++)
        lua_pushvalue(state, i);
    lua_call(state, count, 1);
    output_log(lua_tostring(state, lua_upvalueindex(1)), lua_tostring(state, -1));
    return 0;
}

static void register_log(const char *name, const char *level)
{
    lua_pushstring(L, level);
    lua_pushcclosure(L, log_line, 1);
    lua_setfield(L, -2, name);
}

static void register_slurm(void)
{
    static const luaL_Reg functions[] = {
        {"set_bundle_path", set_bundle_path},
        {"set_root_path", set_root_path},
        {"allocator_command", command},
        {"remote_command", command},
    };

    lua_newtable(L);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        lua_pushcfunction(L, functions[i].func);
        lua_setfield(L, -2, functions[i].name);
    }
    register_log("log_error", "ERROR");
    register_log("log_info", "INFO");
    register_log("log_verbose", "VERBOSE");
    register_log("log_debug", "DEBUG");
    lua_pushnumber(L, SLURM_ERROR);
    lua_setfield(L, -2, "ERROR");
    lua_pushnumber(L, SLURM_SUCCESS);
    lua_setfield(L, -2, "SUCCESS");
    lua_setglobal(L, "slurm");
}

/* slurm_lua_loadscript(): run the file, and check its result and that it defines the two functions. */
void command_lua(const struct line *line)
{
    const char *why = NULL;

    L = luaL_newstate();
    luaL_openlibs(L);
    register_slurm();
    if (luaL_loadfile(L, line->words[1]) || lua_pcall(L, 0, 1, 0))
        why = lua_tostring(L, -1);
    else if (lua_tonumber(L, -1) != SLURM_SUCCESS)
        why = "it did not return slurm.SUCCESS";
    lua_getglobal(L, "slurm_scrun_stage_in");
    lua_getglobal(L, "slurm_scrun_stage_out");
    if (!why && (!lua_isfunction(L, -1) || !lua_isfunction(L, -2)))
        why = "it lacks a function";
    FILE *result = output_begin("lua");
    output_text(result, "why", why);
    output_end(result);
    lua_settop(L, 0);
}

static void push_word(const struct line *line, const char *key, const char *otherwise)
{
    const char *value = line_value(line, key);

    lua_pushstring(L, value ? value : otherwise);
}

/* Push the job's environment. As in scrun, the first index is 0. */
static void push_environment(const struct line *line)
{
    int next = 0;

    lua_newtable(L);
    for (int i = 1; i < line->count; i++) {
        if (strncmp(line->words[i], "env=", strlen("env=")))
            continue;
        lua_pushstring(L, line->words[i] + strlen("env="));
        lua_rawseti(L, -2, next++);
    }
}

static void call(const char *command, const char *name, int arguments)
{
    int rc = SLURM_ERROR;

    plugin_enter();
    bool failed = lua_pcall(L, arguments, 1, 0);
    plugin_leave(name, PLUGIN_ERRNO);
    if (failed)
        output_log("ERROR", lua_tostring(L, -1));
    else
        rc = lua_isnumber(L, -1) ? (int)lua_tonumber(L, -1) : SLURM_SUCCESS;
    FILE *result = output_begin(command);
    output_rc(result, rc);
    output_text(result, "bundle", bundle);
    output_text(result, "root_path", root_path);
    output_number(result, "lua_top", lua_gettop(L) - 1);
    output_end(result);
    lua_settop(L, 0);
}

/* Call a symbol of the library as a Lua function, as scrun.lua does by package.loadlib(). */
void command_lua_function(const struct line *line)
{
    void *library = dlopen(line->words[1], RTLD_NOW);
    lua_CFunction function = library ? (lua_CFunction)dlsym(library, line->words[2]) : NULL;

    if (!L)
        L = luaL_newstate();
    if (!function)
        script_wrong(line, "the library has no such function");
    lua_pushcfunction(L, function);
    call("lua_function", line->words[2], 0);
}

void command_stage_in(const struct line *line)
{
    keep(&bundle, line_value(line, "bundle"));
    lua_getglobal(L, "slurm_scrun_stage_in");
    push_word(line, "id", "box");
    lua_pushstring(L, bundle);
    push_word(line, "spool_dir", "/spool");
    push_word(line, "config_file", "/spool/config.json");
    lua_pushnumber(L, 4711);
    lua_pushnumber(L, 2001);
    lua_pushnumber(L, 2002);
    push_environment(line);
    call("stage_in", "slurm_scrun_stage_in", 8);
}

void command_stage_out(const struct line *line)
{
    lua_getglobal(L, "slurm_scrun_stage_out");
    push_word(line, "id", "box");
    lua_pushstring(L, bundle);
    push_word(line, "orig_bundle", "/orig/bundle");
    lua_pushstring(L, root_path);
    push_word(line, "orig_root_path", "/orig/root");
    push_word(line, "spool_dir", "/spool");
    push_word(line, "config_file", "/spool/config.json");
    lua_pushnumber(L, 4711);
    lua_pushnumber(L, 2001);
    lua_pushnumber(L, 2002);
    call("stage_out", "slurm_scrun_stage_out", 10);
}
