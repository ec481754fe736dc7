-- SPDX-License-Identifier: GPL-2.0-or-later
-- What job_submit_lua.c (24.11) gives to a script, for a Lua without Slurm.
local fields, writable, values, variables, constants, tables, minutes, not_known, slurm_table = ...
local tonumber, type, error, floor = tonumber, type, error, math.floor

local seen, shown = slurm_table(constants, minutes)

local function unknown(what)
   return setmetatable({}, {
      __index = function() not_known(what) error(what .. " is not known", 2) end,
      __newindex = function() not_known(what) error(what .. " is not known", 2) end,
   })
end
slurm.jobs = unknown("slurm.jobs")
slurm.reservations = unknown("slurm.reservations")

local environment = setmetatable({}, {
   __index = function(_, name) return variables[name] end,
   __newindex = function(_, name, value)
      not_known("an assignment to job_desc.environment")
      error("job_desc.environment is not known", 2)
   end,
})

local function read(_, name)
   if name == "environment" then return environment end
   local field = fields[name]
   if field then
      if field == true then not_known("job_desc." .. name) error("job_desc." .. name .. " is not known", 2) end
      return values[field]
   end
end

local function text_of(value)
   if type(value) ~= "string" and type(value) ~= "number" then
      error("bad argument #3 (string expected, got " .. type(value) .. ")", 3)
   end
   return value .. ""
end

local function number_of(value)
   local number = tonumber(value)
   if number == nil or type(value) == "boolean" then
      error("bad argument #3 (number expected, got " .. type(value) .. ")", 3)
   end
   return number
end

local function write(_, name, value)
   local kind = writable[name]
   if kind == nil and fields[name] == true then
      not_known("an assignment to job_desc." .. name)
      error("it is not known", 2)
   end
   if kind == nil then
      seen.log[#seen.log + 1] = "error: _set_job_field: unrecognized field: " .. shown(name)
      return
   end
   local member = fields[name]
   if kind == "text" then
      local text = text_of(value)
      if name == "gres" and text ~= "" then
         text = ("gres/" .. text:gsub(",", ",gres/")):gsub("gres/gres[:/]", "gres/")
      end
      values[member] = text ~= "" and text or nil
   else
      local number = number_of(value)
      if name == "min_mem_per_cpu" or name == "min_mem_per_node" then
         values.min_mem_per_cpu, values.min_mem_per_node = nil, nil
      elseif name == "pn_min_memory" then
         not_known("an assignment to pn_min_memory")
         error("it is not known", 2)
      end
      if number ~= floor(number) or number < 0 or number >= 2 ^ kind then
         not_known("a number for " .. name .. " that does not fit")
         error("it does not fit", 2)
      end
      values[member] = number
   end
   seen.writes[member] = true
end

local function table_of(rows)
   if not rows then return unknown("part_list") end
   local result = {}
   for name, row in pairs(rows) do
      result[name] = setmetatable({}, { __index = function(_, key)
         local value = row[key]
         if value == nil then not_known("a field of a partition: " .. tostring(key)) error("not known", 2) end
         if value == false then return nil end
         return value
      end })
   end
   return result
end

local function job_submit(uid)
   local job_desc = setmetatable({}, { __index = read, __newindex = write })
   return slurm_job_submit(job_desc, table_of(tables), uid)
end

local function job_modify(uid)
   local job_desc = setmetatable({}, { __index = read, __newindex = write })
   return slurm_job_modify(job_desc, unknown("job_rec"), table_of(tables), uid)
end

return job_submit, job_modify, seen, function(new_values, new_variables)
   values, variables = new_values, new_variables
   seen.log, seen.messages, seen.writes = {}, {}, {}
end
