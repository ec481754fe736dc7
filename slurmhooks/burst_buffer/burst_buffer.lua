-- SPDX-License-Identifier: GPL-2.0-or-later
-- Made by 'slurmhooks deploy', as a part of the set in force: hands calls over to the handlers of hook.burst_buffer.
local program = @PROGRAM@
local pools = @POOLS@
local variables = @VARIABLES@

-- slurmctld itself calls these three under its locks: they know nothing but what slurmhooks.toml had.
function slurm_bb_job_process()
   return slurm.SUCCESS
end

function slurm_bb_pools()
   if pools == "" then
      return slurm.SUCCESS
   end
   return slurm.SUCCESS, pools
end

function slurm_bb_paths(job_id, _, path_file)
   local file = assert(io.open(path_file, "w"))
   assert(file:write((variables:gsub("%%j", job_id))))
   assert(file:close())
   return slurm.SUCCESS
end

-- Slurm calls the others in a process for each call, which it ends together with the program.
local function run(...)
   local words = {program}
   for place = 1, select("#", ...) do
      local word = select(place, ...)
      if type(word) == "string" then -- the last one may be the table job_info
         words[#words + 1] = "'" .. word:gsub("'", "'\\''") .. "'"
      end
   end
   local pipe = assert(io.popen("exec 2>&1; " .. table.concat(words, " ") .. "; printf '\\n%d\\n' $?"))
   local text, status = pipe:read("*a"):match("^(.*)\n(%d+)\n$")
   pipe:close()
   local answer = status == "0" and text:match("^passed\n(.*)$") -- or a handler has ended the process
   if answer then
      return slurm.SUCCESS, answer
   end
   if status ~= "1" then -- it was killed, or could not start
      text = (text or "") .. "\nthe process of the handlers ended with status " .. tostring(status)
   end
   return slurm.ERROR, (text:gsub("%s+", " "):gsub("^ ", ""))
end

local function pass()
   return slurm.SUCCESS
end

for name, has_handlers in pairs(@FUNCTIONS@) do
   _G["slurm_bb_" .. name] = has_handlers and function(...) return run(name, ...) end or pass
end

return slurm.SUCCESS
