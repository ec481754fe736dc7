-- SPDX-License-Identifier: GPL-2.0-or-later
-- Users change neither nice values nor QOS of their jobs, and no job gets longer than a day.

local function has_gpu(job)
    for _, field in ipairs({"tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task"}) do
        for entry in string.gmatch(job[field] or "", "[^,]+") do
            if string.find(entry, "^gres[:/]gpu") and not string.find(entry, ":0$") then
                return true
            end
        end
    end
    return false
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid ~= 0 and job_desc.time_limit ~= slurm.NO_VAL and job_desc.time_limit > 1440 then
        slurm.log_user("Jobs end after a day")
        return slurm.ESLURM_INVALID_TIME_LIMIT
    end
    if submit_uid ~= 0 and job_desc.partition == "gpu" and not has_gpu(job_desc) then
        slurm.log_user("The job has no GPU")
        return slurm.ESLURM_INVALID_GRES
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    if modify_uid == 0 then
        return slurm.SUCCESS
    end
    if job_desc.qos ~= nil or job_desc.nice ~= slurm.NO_VAL then
        slurm.log_user("Ask us to change the QOS or the nice value of a job")
        return slurm.ESLURM_ACCESS_DENIED
    end
    if job_desc.time_limit ~= slurm.NO_VAL and job_desc.time_limit > 1440 then
        slurm.log_user("Jobs end after a day")
        return slurm.ESLURM_INVALID_TIME_LIMIT
    end
    if job_desc.partition == "gpu" and not has_gpu(job_rec) then
        slurm.log_user("The job has no GPU")
        return slurm.ESLURM_INVALID_GRES
    end
    return slurm.SUCCESS
end

return slurm.SUCCESS
