-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs the scrun.lua of a site's own, which slurmhooks.toml names under [scrun] lua, in scrun's Lua state and with
-- scrun's own `slurm` table: as scrun itself would.
--
-- Gets the folder of the plugins, that of slurm.conf with a slash at its end, and slurmhooks.toml: its path and its text.
-- Returns the script's two functions, or nothing if no script is named. What is wrong is an error, with which scrun ends
-- before it asks for a job.
local plugins, folder, toml, text = ...

local function unquoted(text)
   return text:match('^"(.*)"$') or text:match("^'(.*)'$") or text
end

-- The value on a line such as: lua = "scrun.site.lua"  # a comment
local function value_on(line)
   local value, rest = line:match('=%s*"([^"\\]*)"(.*)$')
   if not value then
      value, rest = line:match("=%s*'([^']*)'(.*)$")
   end
   if value and value ~= "" and (rest:match("^%s*$") or rest:match("^%s*#")) then
      return value
   end
end

-- Not all of TOML: a spelling that this does not understand is refused, never overlooked.
local function configured()
   local section, found = "", nil
   for line in (text .. "\n"):gmatch("([^\n]*)\n") do
      local header = line:match("^%s*%[%s*([^%[%]]-)%s*%]%s*$") or line:match("^%s*%[%s*([^%[%]]-)%s*%]%s*#")
      local key = line:match('^%s*(["\']?[%w_-]+["\']?)%s*[.=]')
      key = key and unquoted(key)
      if header then
         section = unquoted(header)
      elseif key == "scrun" and section == "" or key == "lua" and section == "scrun" then
         found = section == "scrun" and value_on(line)
         if not found then
            error(toml .. ': write the name of scrun\'s Lua script as [scrun] and, on a line of its own, lua = "PATH"', 0)
         end
      end
   end
   return found
end

local function is_ours(path)
   local file = io.open(path, "r")
   local start = file and file:read(300) or ""
   if file then
      file:close()
   end
   return start:find("Made by 'slurmhooks install'", 1, true)
end

local function run(path)
   if is_ours(path) then
      error(path .. ": [scrun] lua names the scrun.lua that slurmhooks made, not the site's own", 0)
   end
   local chunk, message = loadfile(path)
   if not chunk then
      error(message, 0)
   end
   local result = chunk()
   local code = tonumber(result) or 0
   if code ~= 0 then
      error(string.format("%s: returned %d on load", path, code), 0)
   end
   for _, name in ipairs({"slurm_scrun_stage_in", "slurm_scrun_stage_out"}) do
      if type(_G[name]) ~= "function" then
         error(path .. ": missing required function " .. name, 0)
      end
   end
   return slurm_scrun_stage_in, slurm_scrun_stage_out
end

local name = configured()
if not name then
   return
end
-- Behind all others: the site's own module is the one that is found.
table.insert(package.searchers or package.loaders, function(module)
   if module == "json" then
      return assert(loadfile(plugins .. "/slurmhooks/json.lua"))
   end
   return "\n\tno module '" .. module .. "' of slurmhooks"
end)
return run(name:sub(1, 1) == "/" and name or folder .. name)
