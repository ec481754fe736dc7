-- SPDX-License-Identifier: GPL-2.0-or-later
-- The same policy as policy.py, for job_submit/lua.
function slurm_job_submit(job, partitions, submit_uid)
   if job.account == nil then slurm.log_user("no account") return slurm.ERROR end
   if job.user_id == 0 or job.group_id == 0 or submit_uid == 0 then return slurm.SUCCESS end
   if job.name == nil or job.work_dir == nil or job.script == nil then return slurm.SUCCESS end
   if job.reservation ~= nil or job.features ~= nil or job.tres_per_node ~= nil then return slurm.SUCCESS end
   if job.qos == nil and job.environment["HOME"] == nil then return slurm.SUCCESS end
   if job.time_limit == slurm.NO_VAL then job.time_limit = 60 end
   if job.partition == nil then job.partition = "debug" end
   job.comment = "seen"
   job.min_nodes = 1
   return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, modify_uid) return slurm.SUCCESS end
return slurm.SUCCESS
