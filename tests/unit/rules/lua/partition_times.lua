-- SPDX-License-Identifier: GPL-2.0-or-later
-- Each partition has a longest time; jobs of no partition run in batch, and jobs of no time get an hour.

local longest = {debug = 30, batch = 2880, long = 20160}

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    if job_desc.time_limit == slurm.NO_VAL then
        job_desc.time_limit = 60
        slurm.log_user("No time limit given: set to one hour")
    end
    local partition = job_desc.partition or "batch"
    for _, name in ipairs({"debug", "batch", "long"}) do
        for own in string.gmatch(partition, "[^,]+") do
            if own == name and job_desc.time_limit > longest[name] then
                slurm.log_user("Time limit too long: partition %s allows %d minutes", name, longest[name])
                return slurm.ESLURM_INVALID_TIME_LIMIT
            end
        end
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
