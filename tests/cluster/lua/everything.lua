-- SPDX-License-Identifier: GPL-2.0-or-later
-- A job_submit.lua that uses all of Slurm's interface. The name of the job says what to do; all values are logged, so
-- that the logs of two plugins can be compared.
package.path = "/etc/slurm/lua/?.lua;" .. package.path
local names = require "names"
local helped = dofile("/etc/slurm/lua/helper.lua")
calls = (calls or 0)

local function show(value)
   if type(value) ~= "table" then return type(value) .. ":" .. tostring(value) end
   local parts = {}
   for key, item in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. show(item) end
   table.sort(parts)
   return "{" .. table.concat(parts, " ") .. "}"
end

local function read(what, record, fields)
   for _, name in ipairs(fields) do
      -- Variables of an environment are read by name, because it cannot be iterated.
      if name ~= "environment" then slurm.log_info("%s.%s = %s", what, name, show(record[name])) end
   end
end

local function try(what, action, ...)
   local ok, text = pcall(action, ...)
   slurm.log_info("%s: %s %s", what, tostring(ok), tostring(text))
end

local function assign(record, name, value) record[name] = value end

local VALUES = {
   "text", "", 7, -1, 1.9, -5.5, "12", " 12 ", "0x10", "1e3", "12x", true, false, {}, print, slurm.NO_VAL, slurm.NO_VAL8,
   slurm.NO_VAL16, slurm.NO_VAL64, slurm.INFINITE, slurm.INFINITE64, 2 ^ 31, 2 ^ 40, 2 ^ 63, 2 ^ 64, 2 ^ 70, -2 ^ 33,
   65536, "nul\0byte", "caf\233", slurm.MEM_PER_CPU, slurm.NICE_OFFSET,
}

local act = {}

function act.read(job_desc)
   read("job_desc", job_desc, names.job_desc)
   slurm.log_info("pairs: %s", show(job_desc))
   slurm.log_info("types: %s %s", type(job_desc), type(job_desc.environment))
   for _, name in ipairs { "HOME", "LUA_TEST", "LUA_EMPTY", "NOT_THERE", "" } do
      slurm.log_info("environment.%s = %s", name, show(job_desc.environment[name]))
   end
end

function act.write(job_desc)
   for _, name in ipairs(names.job_desc) do
      try("nil to " .. name, assign, job_desc, name, nil)
      for index, value in ipairs(VALUES) do
         local ok, text = pcall(assign, job_desc, name, value)
         local seen = name == "environment" or show(job_desc[name])
         slurm.log_info("value %d to %s: %s %s; reads %s", index, name, tostring(ok), tostring(text), tostring(seen))
      end
   end
   return slurm.ERROR
end

function act.odd(job_desc)
   try("no such field", assign, job_desc, "no_such_field", 1)
   try("a number as name", assign, job_desc, 7, 1)
   try("a table as name", assign, job_desc, {}, 1)
   slurm.log_info("reads: %s %s", show(job_desc.no_such_field), show(job_desc[7]))
   try("environment, number", assign, job_desc.environment, "LUA_NUMBER", 7)
   slurm.log_info("%s", show(job_desc.environment.LUA_NUMBER))
   try("environment, nil", assign, job_desc.environment, "LUA_NUMBER", nil)
   try("environment, table", assign, job_desc.environment, "LUA_NUMBER", {})
   try("%d of a fraction", slurm.log_info, "%d", 1.5)
   try("too few", slurm.log_info, "%s %s", "one")
   try("nil", slurm.log_info, nil)
   try("no format", slurm.log_user)
   try("concatenation", function() return "x" .. job_desc.reservation end)
   try("comparison", function() return job_desc.reservation > 1 end)
   try("pairs", function() for _ in pairs(nil) do end end)
   try("old getter", function() return _get_job_req_field_name(getmetatable(job_desc)._job_desc, "name") end)
   try("old setter", function() _set_job_req_field(job_desc, "comment", "old") return job_desc.comment end)
   try("old environment", function() _set_job_env_field(job_desc.environment, "OLD", "o") return job_desc.environment.OLD end)
   for _, time in ipairs(names.times) do slurm.log_info("time %s = %s", time, show(slurm.time_str2mins(time))) end
   try("no time", slurm.time_str2mins)
   if slurm.get_qos_priority then
      for _, name in ipairs(names.qos) do slurm.log_info("qos %s: %s", name, show(slurm.get_qos_priority(name))) end
      if names.qos[1] then slurm.log_info("no qos: %s", show(slurm.get_qos_priority(nil))) end
   end
end

function act.change(job_desc)
   job_desc.comment = "changed by Lua"
   job_desc.time_limit = 17
   job_desc.partition = "other"
   job_desc.nice = slurm.NICE_OFFSET + 3
   job_desc.min_nodes = 1
   job_desc.max_nodes = 2
   job_desc.mail_user = "nobody@example.org"
   job_desc.mail_type = slurm.MAIL_JOB_END
   job_desc.requeue = 0
   job_desc.account = "physics"
   job_desc.work_dir = "/tmp"
   job_desc.admin_comment = "seen"
   job_desc.cpus_per_task = 2
   job_desc.min_mem_per_cpu = 5
   job_desc.site_factor = 4
   job_desc.reservation = ""
   if job_desc.script ~= nil then
      job_desc.script = job_desc.script .. "\n# more\n"
      job_desc.environment.LUA_ADDED = "added"
   end
   slurm.log_info("min_mem_per_node = %s", show(job_desc.min_mem_per_node))
end

function act.list(_, part_list)
   local order = {}
   for name, part in pairs(part_list) do
      order[#order + 1] = name
      read("part " .. name, part, names.part)
   end
   slurm.log_info("order: %s", table.concat(order, " "))
   slurm.log_info("none: %s %s", show(part_list.nowhere), show(part_list[1]))
   slurm.log_info("first: %s, length: %d", tostring((next(part_list))), #part_list)
   for _, id in ipairs { "1", "2", "3", "99999", "x" } do
      local job = slurm.jobs[id]
      slurm.log_info("job %s: %s", id, type(job))
      if job then read("job " .. id, job, names.job_rec) end
   end
   local ids = {}
   -- A job that has ended exists only until slurmctld purges it, which may happen now.
   for id, job in pairs(slurm.jobs) do
      if job.job_state == 0 then ids[#ids + 1] = id end
   end
   table.sort(ids)
   slurm.log_info("jobs: %s", table.concat(ids, " "))
   for name, reservation in pairs(slurm.reservations) do read("reservation " .. name, reservation, names.reservation) end
   slurm.log_info("%s %s", type(slurm.reservations.luaresv), type(slurm.reservations.none))
   local function field(record, key) return record[key] end
   local records = { partition = part_list.debug, job = slurm.jobs["1"], reservation = slurm.reservations.luaresv }
   for _, what in ipairs { "partition", "job", "reservation" } do
      try(what .. ", nil", field, records[what], nil)
      for _, key in ipairs { true, false, {}, print, 7, 1.5, "", "name\0x", "users\0x", "no_such_field" } do
         try(what .. ", odd key", field, records[what], key)
      end
   end
end

function act.own(_, part_list)
   part_list.debug.max_time, part_list.debug.mine, part_list.mine = 5, "mine", 1
   slurm.log_info("own: %s %s %s", show(part_list.debug.max_time), show(part_list.debug.mine), show(part_list.mine))
   part_list.debug = nil
   local order = {}
   for name in pairs(part_list) do order[#order + 1] = name end
   table.sort(order)
   slurm.log_info("left: %s", table.concat(order, " "))
end

function act.component(job_desc)
   job_desc.environment.LUA_ADDED = "added"
   slurm.log_info("component: %s %s", type(job_desc.script), show(job_desc.environment.LUA_ADDED))
end

function act.table()
   local keys = {}
   for key in pairs(slurm) do keys[#keys + 1] = key end
   table.sort(keys)
   for _, key in ipairs(keys) do
      local value = slurm[key]
      if type(value) == "number" then slurm.log_info("slurm.%s = %.17g", key, value)
      elseif type(value) == "string" then slurm.log_info("slurm.%s = %s", key, value)
      else slurm.log_info("slurm.%s: %s", key, type(value)) end
   end
end

function act.say(job_desc)
   slurm.log_user("%s asks for %d minutes, 100%%", job_desc.user_name, job_desc.time_limit)
   slurm.log_user("two\nlines")
   slurm.user_msg("plain %s")
   slurm.log_user("caf\195\169")
   slurm.error("an error")
   for level = 0, 6 do slurm.log(level, "level " .. level) end
   slurm.log_error("%5.1f|%-4s|%q", 2.25, "x", "q")
   slurm.log_verbose("verbose")
   slurm.log_debug("debug")
   slurm.log_debug2("debug2")
   slurm.log_debug3("debug3")
   slurm.log_debug4("debug4")
   slurm.log(0, 12.5)
   slurm.log_info(string.rep("long", 100))
end

function act.boom(job_desc)
   job_desc.comment = "before the error"
   slurm.log_user("said before the error")
   return job_desc.reservation.x
end

function act.code() return slurm.ESLURM_INVALID_ACCOUNT end
function act.text() return "text" end
function act.none() return nil, 1 end
function act.half() return 0.7 end
function act.digits() return "2050" end
function act.refuse() slurm.log_user("refused by Lua") return slurm.ERROR end
function act.failure() return slurm.FAILURE end
function act.positive() return 7 end

function act.count()
   slurm.log_user("call %d", calls)
end

function act.system()
   local pipe = io.popen("echo from a pipe")
   slurm.log_info("%s", pipe:read("*l"))
   pipe:close()
   slurm.log_info("%s %s", helped, tostring(os.getenv("NOT_THERE")))
   local file = io.open("/etc/slurm/lua/names.lua")
   slurm.log_info("%s", tostring(file ~= nil))
   file:close()
   slurm.log_info("%s", tostring(package.loaded.names == names))
end

function slurm_job_submit(job_desc, part_list, submit_uid)
   calls = calls + 1
   slurm.log_info("submit %s by %d", tostring(job_desc.name), submit_uid)
   local action = act[job_desc.name or ""]
   if not action then return slurm.SUCCESS end
   local results = { action(job_desc, part_list, submit_uid) }
   if job_desc.name == "text" or job_desc.name == "none" then return unpack(results, 1, 2) end
   return results[1] or slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   slurm.log_info("modify %s by %d", tostring(job_rec.job_id), modify_uid)
   read("job_desc", job_desc, names.job_desc)
   read("job_rec", job_rec, names.job_rec)
   slurm.log_info("environment: %s", show(job_desc.environment.HOME))
   slurm.log_user("modified by %s", tostring(job_desc.user_id))
   if job_desc.comment == "refuse" then return slurm.ESLURM_ACCESS_DENIED end
   if job_desc.comment == "boom" then return nil .. "x" end
   if job_desc.comment == "text" then return "text" end
   if job_desc.comment then
      job_desc.comment = job_desc.comment .. ", seen"
      job_desc.admin_comment = ""
      job_desc.time_limit = job_rec.time_limit + 1
   end
   return slurm.SUCCESS
end

slurm.log_info("loading, %d calls so far", calls)
slurm.log_user("loaded")
return slurm.SUCCESS
