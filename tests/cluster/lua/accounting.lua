-- SPDX-License-Identifier: GPL-2.0-or-later
-- A job_submit.lua of a site with accounting: logs accounting data before and after it changes the request.
local PENDING = 0
local known = { physics = true, maths = true }

local function show(value)
   if type(value) == "number" then return string.format("%.0f", value) end
   return tostring(value)
end

local function read(when, job_desc)
   for _, name in ipairs { "account", "qos", "partition", "wckey", "default_account", "default_qos", "assoc_comment",
                           "priority", "user_name" } do
      slurm.log_info("%s: %s = %s", when, name, show(job_desc[name]))
   end
   -- Slurm's own plugin is not asked about other accounts, because that is not safe in every release.
   if known[job_desc.account or "physics"] then slurm.log_info("%s: assoc_qos = %s", when, show(job_desc.assoc_qos)) end
end

local function list(part_list)
   for name, part in pairs(part_list) do
      slurm.log_info("part %s: %s %s %s %s %s %s", name, show(part.allow_accounts), show(part.deny_accounts),
         show(part.allow_qos), show(part.deny_qos), show(part.qos), show(part.max_time))
   end
   for _, job in pairs(slurm.jobs) do
      if job.job_state == PENDING then
         slurm.log_info("job %s: %s %s %s %s", show(job.name), show(job.account), show(job.qos), show(job.wckey),
            show(job.user_name))
      end
   end
end

local act = {}

-- The account and the partition select the association.
function act.moved(job_desc)
   job_desc.account = "maths"
   read("maths", job_desc)
   job_desc.partition = "rich"
   read("rich", job_desc)
   job_desc.account = "physics"
   read("physics", job_desc)
   job_desc.account = "nobody's"
   read("no such account", job_desc)
   job_desc.account = ""
   read("no account", job_desc)
end

-- Like many sites: set what Slurm would use by default.
function act.defaults(job_desc)
   if not job_desc.account then job_desc.account = job_desc.default_account end
   if not job_desc.qos then job_desc.qos = job_desc.default_qos end
   slurm.log_user("account %s, qos %s", job_desc.account, job_desc.qos)
end

function act.low(job_desc) job_desc.qos = "low" end
function act.denied(job_desc) job_desc.qos = "secret" end

function act.policy(job_desc)
   if job_desc.qos == "high" and job_desc.default_account ~= "maths" then
      slurm.log_user("qos high is for maths, and you are of %s", job_desc.default_account)
      return slurm.ESLURM_INVALID_QOS or slurm.ERROR
   end
end

function act.priorities()
   for _, name in ipairs { "high", "low", "normal", "none" } do
      local ok, found = pcall(slurm.get_qos_priority or error, name)
      slurm.log_info("priority of %s: %s %s", name, show(ok), show(found))
   end
end

function slurm_job_submit(job_desc, part_list, submit_uid)
   read("submit", job_desc)
   list(part_list)
   local action = act[job_desc.name]
   return action and action(job_desc) or slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   read("modify", job_desc)
   slurm.log_info("record: %s %s %s %s", show(job_rec.account), show(job_rec.qos), show(job_rec.wckey),
      show(job_rec.user_name))
   list(part_list)
   if job_desc.comment == "move" then
      job_desc.account = "maths"
      job_desc.qos = "low"
   end
   return slurm.SUCCESS
end

return slurm.SUCCESS
