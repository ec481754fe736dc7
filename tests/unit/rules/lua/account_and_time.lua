-- SPDX-License-Identifier: GPL-2.0-or-later
-- Every job names a project and a time limit; root's do not have to.

local function missing(value)
    return value == nil or value == "" or value == slurm.NO_VAL
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    if missing(job_desc.account) then
        slurm.log_user("You have to give a project: sbatch --account=PROJECT")
        return slurm.ESLURM_INVALID_ACCOUNT
    end
    if string.find(job_desc.account, "^guest") then
        slurm.log_user("You have to give a project: sbatch --account=PROJECT")
        return slurm.ESLURM_INVALID_ACCOUNT
    end
    if missing(job_desc.time_limit) or job_desc.time_limit == slurm.INFINITE then
        slurm.log_user("You have to give a time limit: sbatch --time=HH:MM:SS")
        return slurm.ESLURM_MISSING_TIME_LIMIT
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
