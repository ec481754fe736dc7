-- SPDX-License-Identifier: GPL-2.0-or-later
-- What cli_filter_lua.c (24.11, and log_user as in 25.11) gives to a script, for a Lua without Slurm.
local get, set, json_options, json_env, constants, minutes, not_known, slurm_table, has_log_user = ...
local type, error = type, error

local seen = slurm_table(constants, minutes)
slurm.user_msg = nil
if not has_log_user then slurm.log_user = nil end

local stored = {}
local function text_of(value, place)
   if type(value) ~= "string" and type(value) ~= "number" then
      error("bad argument #" .. place .. " (string expected, got " .. type(value) .. ")", 3)
   end
   return value .. ""
end
function slurm.cli_store(key, value) stored[key] = text_of(value, -1) end
function slurm.cli_retrieve(key) return stored[key] end

local options, command, words, running
function slurm.json_cli_options(given)
   if type(given) ~= "table" or not running then
      seen.log[#seen.log + 1] = "error: json_cli_options requires one argument - options structure"
      return
   end
   return json_options(options)
end
function slurm.json_env() return json_env() end

local view = setmetatable({}, {
   __index = function(_, name)
      if name == "argv" then return words end
      if name == "spank" then return {} end
      if name == "type" then return command end
      if name == "spank_job_env" then not_known("options.spank_job_env") error("it is not known", 2) end
      if type(name) ~= "string" then return nil end
      return get(options, name)
   end,
   __newindex = function(_, name, value) set(options, text_of(name, -2), text_of(value, -1)) end,
})

return function(name, ...)
   running = name ~= "post_submit"
   return _G["slurm_cli_" .. name](...)
end, view, seen, function(new, new_command, new_words) options, command, words = new, new_command, new_words end
