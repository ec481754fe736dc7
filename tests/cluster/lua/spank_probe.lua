-- SPDX-License-Identifier: GPL-2.0-or-later
-- A script of spank-lua that records everything it can read, in every callback and context, one value per line.
local RECORDS = "/opt/spank/records"
local CALLBACKS = {
   "init", "slurmd_init", "job_prolog", "init_post_opt", "local_user_init", "user_init", "task_init_privileged",
   "task_init", "task_post_fork", "task_exit", "exit", "job_epilog", "slurmd_exit",
}
local ITEMS = {
   "S_JOB_UID", "S_JOB_GID", "S_JOB_ID", "S_JOB_STEPID", "S_JOB_NNODES", "S_JOB_NODEID", "S_JOB_LOCAL_TASK_COUNT",
   "S_JOB_TOTAL_TASK_COUNT", "S_JOB_NCPUS", "S_JOB_ARGV", "S_TASK_ID", "S_TASK_GLOBAL_ID", "S_TASK_EXIT_STATUS",
   "S_TASK_PID", "S_JOB_SUPPLEMENTARY_GIDS", "S_SLURM_VERSION", "S_SLURM_VERSION_MAJOR", "S_SLURM_VERSION_MINOR",
   "S_SLURM_VERSION_MICRO", "S_STEP_CPUS_PER_TASK", "S_JOB_ALLOC_CORES", "S_JOB_ALLOC_MEM", "S_STEP_ALLOC_CORES",
   "S_STEP_ALLOC_MEM", "S_SLURM_RESTART_COUNT", "S_JOB_ARRAY_ID", "S_JOB_ARRAY_TASK_ID", "S_NO_SUCH",
}
local EXTRA = {
   {"S_JOB_LOCAL_TO_GLOBAL_ID", 0}, {"S_JOB_LOCAL_TO_GLOBAL_ID", 99}, {"S_JOB_GLOBAL_TO_LOCAL_ID", 0},
   {"S_JOB_PID_TO_GLOBAL_ID", 1}, {"S_JOB_PID_TO_LOCAL_ID"},
}

spank_options = {
   { name = "probe-word", arginfo = "WORD", usage = "needs an argument", has_arg = 1, val = 11, cb = "given" },
   { name = "probe-maybe", arginfo = "WORD", usage = "may have one", has_arg = 2, val = 12, cb = "given" },
   { name = "probe-flag", usage = "takes none", cb = "given" },
   { name = "probe-quiet", usage = "no callback" },
}
local dynamic = { name = "probe-dynamic", usage = "registered in init", val = 2.5, cb = "given", arginfo = "X",
   has_arg = 1 }
local where = "no call yet"
local count = 0

local function shown(value)
   if type(value) == "number" and value == math.floor(value) then
      return string.format("number:%d", value)
   elseif type(value) ~= "table" then
      return type(value) .. ":" .. tostring(value)
   end
   local parts = {}
   for index, item in ipairs(value) do
      parts[index] = tostring(item)
   end
   return "{" .. table.concat(parts, ",") .. "}"
end

local function all(...)
   local parts = {}
   for index = 1, select("#", ...) do
      parts[index] = shown((select(index, ...)))
   end
   return table.concat(parts, " ")
end

local function write(what, ...)
   local file = io.open(RECORDS, "a")
   file:write(where, " | ", what, " | ", all(...), "\n")
   file:close()
end

function given(val, optarg, remote)
   write("option", val, optarg, remote)
end

local function items(spank)
   for _, item in ipairs(ITEMS) do
      write(item, pcall(spank.get_item, spank, item))
   end
   for _, extra in ipairs(EXTRA) do
      write(extra[1] .. "," .. tostring(extra[2]), pcall(spank.get_item, spank, extra[1], extra[2]))
   end
   if spank.context == "remote" then
      local env = spank:get_item("S_JOB_ENV")
      write("S_JOB_ENV", type(env), type(env) == "table" and env.HOME, type(env) == "table" and env.PROBE)
   end
end

local function environment(spank)
   for _, prefix in ipairs({"", "job_control_"}) do
      local get, set, unset = spank[prefix .. "getenv"], spank[prefix .. "setenv"], spank[prefix .. "unsetenv"]
      local name = "PROBE_" .. prefix:upper() .. "A"
      write(prefix .. "get unset", get(spank, name))
      write(prefix .. "set", set(spank, name, "one"))
      write(prefix .. "set again", set(spank, name, "two"))
      write(prefix .. "get", get(spank, name))
      write(prefix .. "set 0", set(spank, name, "three", 0))
      write(prefix .. "set 1", set(spank, name, 4, 1))
      write(prefix .. "get", get(spank, name))
      write(prefix .. "unset", unset(spank, name))
      write(prefix .. "unset again", unset(spank, name))
      write(prefix .. "get kept", get(spank, name .. "_KEPT"))
      write(prefix .. "set kept", set(spank, name .. "_KEPT", spank.context, true))
      write(prefix .. "no name", pcall(get, spank))
      write(prefix .. "no value", pcall(set, spank, name))
      write(prefix .. "no handle", pcall(get, "x", name))
   end
   write("PROBE", spank:getenv("PROBE"))
end

local function probe(spank, name)
   where = name .. "@" .. spank.context
   count = count + 1
   write("handle", type(spank), spank.args, spank.slurm_version, spank:remote(), count > 1)
   write("logs", SPANK.SUCCESS, SPANK.FAILURE, SPANK.log_info("probe %s", name), SPANK._log_msg(-1, "probe msg " .. name))
   if name == "init" then
      write("register", spank:register_option(dynamic))
      write("register", spank:register_option({ name = "probe-flag", usage = "once more" }))
   else
      write("register late", spank:register_option(dynamic))
   end
   write("register wrong", pcall(spank.register_option, spank, { usage = "no name" }))
   write("register wrong", pcall(spank.register_option, spank, { name = "no usage" }))
   write("register wrong", pcall(spank.register_option, spank, { name = "x", usage = "y", cb = "nobody" }))
   write("register wrong", pcall(spank.register_option, spank, "text"))
   for _, option in ipairs(spank_options) do
      write("getopt " .. option.name, spank:getopt(option))
   end
   write("getopt dynamic", spank:getopt(dynamic))
   write("getopt wrong", pcall(spank.getopt, spank))
   items(spank)
   environment(spank)
end

for _, name in ipairs(CALLBACKS) do
   _G["slurm_spank_" .. name] = function(spank) probe(spank, name) return SPANK.SUCCESS end
end
write("loaded", type(SPANK))
