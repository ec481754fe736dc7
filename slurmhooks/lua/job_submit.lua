-- SPDX-License-Identifier: GPL-2.0-or-later
-- What stands between slurmctld's calls and a job_submit.lua: run once in each new state, before the script.
local find_partition, find_job, find_reservation, write_field, write_variable, request, variables = ...
local error, select, setmetatable, tonumber, type = error, select, setmetatable, tonumber, type
local raw_next, raw_pairs = next, pairs
local slurm = slurm

-- Tables of slurmctld's records: looked up on use, listed only for a script that walks through one.
local lists = setmetatable({}, { __mode = "k" })

local function list(one, all)
   local made = setmetatable({}, { __index = one })
   lists[made] = { all = all }
   return made
end

local function by_python(find, pointer)
   return function(_, name)
      local reader = find(name)
      if reader then return setmetatable({}, { __index = reader, [pointer] = reader }) end
   end, function()
      local shown = {}
      local names, readers = find()
      -- One by one, in slurmctld's order: what pairs() makes of it depends on that.
      for index = 1, #names do
         shown[names[index]] = setmetatable({}, { __index = readers[index], [pointer] = readers[index] })
      end
      return shown
   end
end

local function walked(made, entry)
   local shown = entry.all()
   for name, value in raw_next, made do shown[name] = value end
   return shown
end

function pairs(made)
   local entry = lists[made]
   if entry then return raw_next, walked(made, entry), nil end
   if _VERSION == "Lua 5.1" and type(made) ~= "table" then
      error("bad argument #1 to 'pairs' (table expected, got " .. (made == nil and "nil" or type(made)) .. ")", 2)
   end
   return raw_pairs(made)
end

function next(made, ...)
   local entry = lists[made]
   if not entry then return raw_next(made, ...) end
   if select("#", ...) == 0 or (...) == nil then entry.shown = walked(made, entry) end
   return raw_next(entry.shown or {}, ...)
end

-- Records and requests are read by userdata, which costs no call of a Lua function. A script that looks at a metatable
-- finds functions there, as job_submit/lua has them, and may call them or put others in their place.
local raw_metatable = getmetatable

function getmetatable(...)
   if lists[(...)] then return nil end
   local meta = raw_metatable(...)
   local reader = type(meta) == "table" and rawget(meta, "__index")
   if type(reader) == "userdata" then meta.__index = function(_, name) return reader[name] end end
   return meta
end

local partitions = list(by_python(find_partition, "_part_rec_ptr"))
if slurm then
   slurm.jobs = list(by_python(find_job, "_job_rec_ptr"))
   slurm.reservations = list(by_python(find_reservation, "_resv_ptr"))
end

local function writer(write)
   return function(_, name, value)
      local wrong = write(name, value)
      if wrong then error(wrong, 2) end
   end
end

local environment = setmetatable({}, { __index = variables, __newindex = writer(write_variable), _job_desc = request })
local desc = { __index = request, __newindex = writer(write_field), _job_desc = request }

-- Names that scripts of the years before metatables call.
function _get_job_req_field_name(pointer, name) return pointer and pointer[name] end
function _get_job_env_field_name(pointer, name) return pointer and environment[name] end
function _set_job_req_field(table, name, value) table[name] = value end
function _set_job_env_field(table, name, value) table[name] = value end
function _get_part_rec_field(pointer, name) return pointer and pointer[name] end

local function result(value) return tonumber(value) or false end

local function over() error("this job_desc was used after the call that it was made for", 2) end
local stale = { __index = over, __newindex = over }
local latest = {}

local function new_desc()
   setmetatable(latest, stale)
   latest = setmetatable({}, desc)
   return latest
end

local function job_submit(uid)
   if not slurm_job_submit then return 0 end
   local value = slurm_job_submit(new_desc(), partitions, uid)
   if type(value) == "number" then return value end
   return result(value)
end

local function job_modify(record, uid)
   if not slurm_job_modify then return 0 end
   local known = setmetatable({}, { __index = record, _job_rec_ptr = record })
   return (result(slurm_job_modify(new_desc(), known, partitions, uid)))
end

return job_submit, job_modify, environment
