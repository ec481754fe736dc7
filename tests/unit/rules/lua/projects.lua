-- SPDX-License-Identifier: GPL-2.0-or-later
-- Projects have partitions of their own; courses run in their reservation.

local partitions = {phys = "physics", chem = "chemistry"}

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    if job_desc.account == nil then
        job_desc.account = "general"
        slurm.log_user("No project given: charged to general")
    end
    if job_desc.partition == nil and job_desc.reservation == nil and partitions[job_desc.account] then
        job_desc.partition = partitions[job_desc.account]
    end
    if job_desc.partition == "physics" and job_desc.account ~= "phys" then
        slurm.log_user("Partition physics belongs to project phys")
        return slurm.ESLURM_ACCESS_DENIED
    end
    if job_desc.account == "course" and job_desc.reservation ~= "course" then
        slurm.log_user("Jobs of the course need --reservation=course")
        return slurm.ESLURM_RESERVATION_INVALID
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
