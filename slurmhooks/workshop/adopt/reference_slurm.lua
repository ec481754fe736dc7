-- SPDX-License-Identifier: GPL-2.0-or-later
-- The table slurm as slurm_lua.c (24.11) makes it, for a Lua without Slurm. Returns what scripts log, and how they print.
local tonumber, type, floor = tonumber, type, math.floor
local unpack_name = unpack and "unpack" or "table.unpack"

return function(constants, minutes)
   local seen = { log = {}, messages = {}, writes = {} }
   local function shown(value)
      local kind = type(value)
      return (kind == "string" or kind == "number") and value .. "" or "(null)"
   end

   slurm = {}
   for name, value in pairs(constants) do slurm[name] = value end
   local LEVELS = { [0] = "info", "verbose", "debug", "debug2", "debug3", "debug4" }
   local function note(level, text) seen.log[#seen.log + 1] = level .. ": lua: " .. shown(text) end
   function slurm.log(level, text)
      level = floor(tonumber(level) or 0)
      if level >= 0 then note(LEVELS[level > 5 and 5 or level], text) end
   end
   function slurm.error(text) note("error", text) end
   function slurm.user_msg(text) seen.messages[#seen.messages + 1] = shown(text) end
   function slurm.time_str2mins(text) return minutes(text) end
   -- slurm_lua.c compiles these from text, and the text is in messages about an invalid format.
   local unpacked = unpack_name .. "({...})"
   local function chunk(call) return (loadstring or load)("slurm." .. call .. "string.format(" .. unpacked .. "))") end
   slurm.log_error = chunk "error ("
   slurm.log_user = chunk "user_msg ("
   for level = 0, 5 do slurm["log_" .. LEVELS[level]] = chunk("log (" .. level .. ", ") end
   return seen, shown
end
