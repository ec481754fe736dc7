-- SPDX-License-Identifier: GPL-2.0-or-later
-- Interactive jobs are short and small, and stay out of the night partition.

local staff = {alice = true}

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 or job_desc.script ~= nil then
        return slurm.SUCCESS
    end
    if string.find("," .. (job_desc.partition or "batch") .. ",", ",night,", 1, true) then
        slurm.log_user("Partition night is for batch jobs")
        return slurm.ESLURM_ACCESS_DENIED
    end
    if staff[job_desc.user_name] then
        return slurm.SUCCESS
    end
    if job_desc.time_limit == slurm.NO_VAL then
        job_desc.time_limit = 480
    elseif job_desc.time_limit > 480 then
        slurm.log_user("Interactive jobs are limited to 8 hours and 2 nodes")
        return slurm.ESLURM_ACCESS_DENIED
    end
    local most = job_desc.max_nodes
    if most == slurm.NO_VAL then
        most = job_desc.min_nodes
    end
    if job_desc.min_nodes ~= slurm.NO_VAL and job_desc.min_nodes > most then
        most = job_desc.min_nodes
    end
    if most ~= slurm.NO_VAL and most > 2 then
        slurm.log_user("Interactive jobs are limited to 8 hours and 2 nodes")
        return slurm.ESLURM_ACCESS_DENIED
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
