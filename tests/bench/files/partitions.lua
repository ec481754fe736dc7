-- SPDX-License-Identifier: GPL-2.0-or-later
-- Iterates over the partitions like Slurm's own examples, and looks one up.
function slurm_job_submit(job, partitions, submit_uid)
   local chosen
   for name, partition in pairs(partitions) do
      if partition.flag_default ~= 0 then
         chosen = partition.name
      elseif partition.max_time ~= slurm.NO_VAL and partition.priority_tier > 1 and partition.max_nodes > 0 then
         chosen = chosen or partition.name
      end
   end
   if job.partition == nil then job.partition = chosen end
   local own = partitions[job.partition]
   if own ~= nil and job.time_limit == slurm.NO_VAL then job.time_limit = own.default_time end
   return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, modify_uid) return slurm.SUCCESS end
return slurm.SUCCESS
