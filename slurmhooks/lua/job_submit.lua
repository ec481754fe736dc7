-- SPDX-License-Identifier: GPL-2.0-or-later
-- The interface of job_submit.lua scripts. Runs once in each new state, before the script.
local find_partition, find_job, find_reservation, write_field, write_variable, request, variables = ...
local error, setmetatable, tonumber, type = error, setmetatable, tonumber, type
local raw_next, raw_pairs = next, pairs
local slurm = slurm

-- Tables of slurmctld's records. A record is looked up when it is used; all are listed only for pairs(), next() and
-- writes. In each call they are what they are in job_submit/lua: new tables, which the script may change.
local lists = setmetatable({}, { __mode = "k" })
local used = {}

local function list(one, all)
   local seen, shown = {}, nil
   local meta, entry = {}, {}

   local function look_up(_, name)
      local record = seen[name]
      if record == nil then
         record = one(name)
         if record ~= nil then seen[name], used[entry] = record, true end
      end
      return record
   end

   function entry.shown()
      if not shown then
         used[entry] = true
         shown = all()
         for name, record in raw_next, seen do shown[name] = record end
         meta.__index, meta.__newindex = shown, shown
      end
      return shown
   end

   local function write(_, name, value) entry.shown()[name] = value end

   function entry.renew()
      seen, shown = {}, nil
      meta.__index, meta.__newindex = look_up, write
   end

   entry.renew()
   local records = setmetatable({}, meta)
   lists[records] = entry
   return records
end

local function renew_lists()
   if raw_next(used) == nil then return end
   for entry in raw_next, used do entry.renew() end
   used = {}
end

-- What luaL_checkstring() does in Slurm. It calls the metamethod by another name in each version.
local INDEX = ({ ["Lua 5.1"] = "?", ["Lua 5.2"] = "__index", ["Lua 5.3"] = "__index" })[_VERSION] or "index"

local function check_name(name, callee, level)
   local kind = type(name)
   if kind ~= "string" and kind ~= "number" then
      error("bad argument #2 to '" .. callee .. "' (string expected, got " .. kind .. ")", level + 1)
   end
end

local function reading(reader)
   return function(_, name)
      if type(name) ~= "string" then check_name(name, INDEX, 2) end
      return reader[name]
   end
end

local function by_python(find, pointer)
   return function(name)
      local reader = find(name)
      if reader then return setmetatable({}, { __index = reading(reader), [pointer] = reader }) end
   end, function()
      local shown = {}
      local names, readers = find()
      -- Inserted one by one in slurmctld's order, on which the order of pairs() depends.
      for index = 1, #names do
         shown[names[index]] = setmetatable({}, { __index = reading(readers[index]), [pointer] = readers[index] })
      end
      return shown
   end
end

function pairs(value)
   local entry = lists[value]
   if entry then return raw_next, entry.shown(), nil end
   if _VERSION == "Lua 5.1" and type(value) ~= "table" then
      error("bad argument #1 to 'pairs' (table expected, got " .. (value == nil and "nil" or type(value)) .. ")", 2)
   end
   return raw_pairs(value)
end

function next(value, ...)
   local entry = lists[value]
   return raw_next(entry and entry.shown() or value, ...)
end

local raw_metatable = getmetatable

function getmetatable(...)
   if lists[(...)] then return nil end
   return raw_metatable(...)
end

local partitions = list(by_python(find_partition, "_part_rec_ptr"))
if slurm then
   slurm.jobs = list(by_python(find_job, "_job_rec_ptr"))
   slurm.reservations = list(by_python(find_reservation, "_resv_ptr"))
end

local function writer(write)
   return function(_, name, value)
      local message = write(name, value)
      if message then error(message, 2) end
   end
end

local environment = setmetatable({}, { __index = reading(variables), __newindex = writer(write_variable), _job_desc = request })
local desc = { __index = reading(request), __newindex = writer(write_field), _job_desc = request }

-- Functions that old scripts call, from before job_submit/lua used metatables.
local function getter(callee, read)
   return function(pointer, name)
      check_name(name, callee, 2)
      return pointer and read(pointer, name)
   end
end

local function field_of(pointer, name) return pointer[name] end
_get_job_req_field_name = getter("_get_job_req_field_name", field_of)
_get_job_env_field_name = getter("_get_job_env_field_name", function(_, name) return variables[name] end)
_get_part_rec_field = getter("_get_part_rec_field", field_of)
function _set_job_req_field(table, name, value) table[name] = value end
function _set_job_env_field(table, name, value) table[name] = value end

local function result(value) return tonumber(value) or false end

local function refuse() error("this job_desc was used after the call that it was made for", 2) end
local stale = { __index = refuse, __newindex = refuse }
local latest = {}

local function new_desc()
   setmetatable(latest, stale)
   latest = setmetatable({}, desc)
   return latest
end

local function job_submit(uid)
   if not slurm_job_submit then return 0 end
   renew_lists()
   local value = slurm_job_submit(new_desc(), partitions, uid)
   if type(value) == "number" then return value end
   return result(value)
end

local function job_modify(record, uid)
   if not slurm_job_modify then return 0 end
   renew_lists()
   local job_rec = setmetatable({}, { __index = reading(record), _job_rec_ptr = record })
   return (result(slurm_job_modify(new_desc(), job_rec, partitions, uid)))
end

return job_submit, job_modify, environment
