-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs the site's own scrun.lua, which slurmhooks.toml names under [scrun] lua, as scrun would: in scrun's Lua state and
-- with scrun's `slurm` table.
--
-- Arguments: the folder of the plugins, and the path of the script. Returns the script's two functions. Raises an error
-- if the script is not usable: scrun then ends before it asks for a job.
local _, script = ...

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
      error(path .. ": [scrun] lua of slurmhooks.toml must name the site's own script, not the scrun.lua that slurmhooks installed", 0)
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

-- Added as the last searcher: a module of the machine takes precedence. Libraries of a set are beside the script.
local searchers = package.searchers or package.loaders
table.insert(searchers, function(module)
   local path = (script:match("^(.*/)") or "") .. module:gsub("%.", "/") .. ".lua"
   local file = io.open(path, "r")
   if not file then
      return "\n\tno file '" .. path .. "'"
   end
   file:close()
   return assert(loadfile(path))
end)
return run(script)
