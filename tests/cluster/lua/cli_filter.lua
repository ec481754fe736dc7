-- SPDX-License-Identifier: GPL-2.0-or-later
-- What a cli_filter.lua can do, told on the terminal: the same under Slurm's own plugin and ours.
local function say(format, ...) slurm.log_error("SAID " .. format, ...) end

local function try(name, f, ...)
   local ok, text = pcall(f, ...)
   if not ok then say("%s: %s", name, tostring(text):gsub("^[^:]*:%d+: ", "")) end
end

local calls = 0

function slurm_cli_setup_defaults(options, early)
   calls = calls + 1
   say("defaults %s %s", options["type"], tostring(early))
   options["comment"] = "from Lua"
   return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
   for _, name in ipairs { "time", "comment", "ntasks", "mem", "job-name", "hold", "nodes", "no_such", "account" } do
      say("%s=%s", name, tostring(options[name]))
   end
   say("argv %d %s", #options.argv, table.concat(options.argv, "|"))
   say("offset %s calls %d", tostring(offset), calls)
   for plugin, values in pairs(options.spank) do
      for name, value in pairs(values) do say("spank %s %s=%s", plugin, name, value) end
   end
   options["time"] = "5"
   options.ntasks = 1
   options["no_such"] = "x"
   say("now %s %s", options["time"], options.ntasks)
   try("nil", function() options["time"] = nil end)
   try("table", function() options["time"] = {} end)
   say("json %s", slurm.json_cli_options(options))
   say("none %d", select("#", slurm.json_cli_options(5)))
   local environment = slurm.json_env()
   say("env %s %s", tostring(environment:match('"FOR_JSON":"[^"]*"')), tostring(environment:find("SLURM_", 1, true)))
   slurm.cli_store(3, "kept")
   slurm.cli_store(40, 5)
   say("stored %s %s %s", tostring(slurm.cli_retrieve(3)), tostring(slurm.cli_retrieve(40)), tostring(slurm.cli_retrieve(4)))
   say("constants %s %s %s", tostring(slurm.ERROR), tostring(slurm.ESLURM_INVALID_ACCOUNT), tostring(slurm.NO_VAL))
   say("minutes %s", tostring(slurm.time_str2mins and slurm.time_str2mins("1:30:00")))
   if os.getenv("BUG") then error("broken") end
   if os.getenv("TEXT") then return "text" end
   if os.getenv("NOTHING") then return end
   if os.getenv("REFUSE") then return slurm.ERROR end
   return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
   say("post %s %s %s", tostring(offset), type(job_id), tostring(step_id))
   say("kept %s", slurm.cli_retrieve(3))
   return slurm.SUCCESS
end
