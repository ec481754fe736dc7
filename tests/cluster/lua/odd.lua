-- SPDX-License-Identifier: GPL-2.0-or-later
-- Keys and values of types that no field has, for test_adopt.py: what is refused, with which message, and what remains.
-- Neither line feeds nor bytes that are not UTF-8, which slurmhooks escapes in the log.
local function nothing() end
local ODD = {
   true, false, nothing, {}, print, 0 / 0, 1 / 0, -1 / 0, 1.5, -0.0, 0, 1, -1, 2 ^ 31, 2 ^ 32, 2 ^ 53, 2 ^ 63, 2 ^ 64, 1e300,
   "", " ", "7", "0x10", "name", "name\0more", "\0name", "a\0b", "comment", "comment\0", "no_such_field",
   "time_limit\0x", string.rep("x", 300), io.stdout,
}
local LAST = 33
local NAMES = { "name", "time_limit", "comment", "nice", "min_mem_per_cpu", "argv", "environment", "no_such_field" }

-- Without addresses, and without the path of the script, which Slurm's own plugin reads from a copy.
local function shown(value)
   local kind = type(value)
   if kind == "string" or kind == "number" or kind == "boolean" or kind == "nil" then return kind .. " " .. tostring(value) end
   return kind
end

local function try(what, ...)
   local ok, value = pcall(...)
   slurm.log_debug("%s: %s %s", (what:gsub("[^ -~]", "_")):sub(1, 200), tostring(ok), (shown(value):gsub("[^ -~]", "_"):gsub("string .-%.lua:", "string :")):sub(1, 200))
end

local function get(table, key) return table[key] end
local function set(table, key, value) table[key] = value end

local function keys(what, table)
   try(what .. "[nil]", get, table, nil)
   for number = 1, LAST do try(what .. "[" .. number .. "]", get, table, ODD[number]) end
end

local function writes(what, table)
   for number = 1, LAST do try(what .. "[" .. number .. "] = x", set, table, ODD[number], "x") end
   for _, name in ipairs(NAMES) do
      try(what .. "." .. name .. " = nil", set, table, name, nil)
      for number = 1, LAST do
         try(what .. "." .. name .. " = " .. number, set, table, name, ODD[number])
         if name ~= "argv" and name ~= "environment" then try(what .. "." .. name, get, table, name) end
      end
   end
end

local function functions()
   for _, name in ipairs { "log", "error", "time_str2mins", "log_info", "log_error", "log_user", "user_msg" } do
      local call = slurm[name]
      try(name .. "()", call)
      try(name .. "(nil)", call, nil)
      for number = 1, LAST do
         -- Lua shows a number without a fraction differently before 5.3, and its address where it is none.
         local value = ODD[number]
         if type(value) ~= "userdata" then
            try(name .. "(" .. number .. ")", call, value)
            try(name .. "(1, " .. number .. ")", call, 1, value)
            try(name .. "('%s', " .. number .. ")", call, "[%s]", type(value) == "table" and "t" or value)
            try(name .. "(" .. number .. ", 'x', 'y')", call, value, "x", "y")
         end
      end
   end
end

local function old(job_desc)
   local pointer = getmetatable(job_desc)._job_desc
   -- Not called in a return statement: that would not show the line of the call.
   local function field(_, key)
      local value = _get_job_req_field_name(pointer, key)
      return value
   end
   local function variable(_, key)
      local value = _get_job_env_field_name(pointer, key)
      return value
   end
   keys("old getter", setmetatable({}, { __index = field }))
   keys("old getter of variables", setmetatable({}, { __index = variable }))
end

local calls = 0
local function decide(job_desc)
   calls = calls + 1
   if calls % 4 == 0 then keys("job_desc", job_desc) end
   if calls % 4 == 1 then writes("job_desc", job_desc) end
   if calls % 4 == 2 then
      if job_desc.environment then
         keys("environment", job_desc.environment)
         writes("environment", job_desc.environment)
      end
      old(job_desc)
   end
   if calls % 4 == 3 then functions() end
   if calls % 40 == 39 then return job_desc[({ true, {}, nothing })[calls % 3 + 1]] end
   return slurm.SUCCESS
end

function slurm_job_submit(job_desc) return decide(job_desc) end

function slurm_job_modify(job_desc) return decide(job_desc) end
