-- SPDX-License-Identifier: GPL-2.0-or-later
-- Jobs with GPUs go to the partition gpu, and only they may.

local function gpus(job_desc)
    local count = 0
    for _, field in ipairs({"tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task"}) do
        for entry in string.gmatch(job_desc[field] or "", "[^,]+") do
            if string.find(entry, "^gres[:/]gpu") then
                count = count + (tonumber(string.match(entry, ":(%d+)$")) or 1)
            end
        end
    end
    return count
end

local function names(list, wanted)
    for name in string.gmatch(list or "", "[^,]+") do
        if name == wanted then
            return true
        end
    end
    return false
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    if job_desc.partition == nil and job_desc.reservation == nil and gpus(job_desc) > 0 then
        job_desc.partition = "gpu"
        slurm.log_user("Your job asks for GPUs and goes to partition gpu")
    end
    if names(job_desc.partition, "gpu") and gpus(job_desc) == 0 then
        slurm.log_user("Jobs in partition gpu have to ask for GPUs: --gpus=N")
        return slurm.ESLURM_INVALID_GRES
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
