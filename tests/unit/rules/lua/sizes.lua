-- SPDX-License-Identifier: GPL-2.0-or-later
-- Sizes of jobs by partition, and no more than 8 CPUs for each GPU.

local function number(value)
    if value == nil or value == slurm.NO_VAL or value == slurm.NO_VAL16 then
        return 0
    end
    return value
end

local function gpus_in(text)
    local count = 0
    for entry in string.gmatch(text or "", "[^,]+") do
        if string.find(entry, "^gres[:/]gpu") then
            count = count + (tonumber(string.match(entry, ":(%d+)$")) or 1)
        end
    end
    return count
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    local partition = job_desc.partition or "batch"
    local nodes = math.max(number(job_desc.min_nodes), 1)
    local most = math.max(nodes, number(job_desc.max_nodes))
    local tasks = math.max(number(job_desc.num_tasks), 1)
    local cpus = math.max(number(job_desc.min_cpus), tasks * math.max(number(job_desc.cpus_per_task), 1))
    if partition == "debug" and most > 2 then
        slurm.log_user("debug: at most 2 nodes")
        return slurm.ESLURM_INVALID_NODE_COUNT
    end
    if partition == "serial" and tasks > 1 then
        slurm.log_user("serial: one task only")
        return slurm.ESLURM_BAD_TASK_COUNT
    end
    if partition == "parallel" and cpus < 32 then
        slurm.log_user("parallel: at least 32 CPUs, not %d", cpus)
        return slurm.ESLURM_INVALID_CPU_COUNT
    end
    local gpus = math.max(gpus_in(job_desc.tres_per_job), gpus_in(job_desc.tres_per_node) * nodes)
    if gpus > 0 and cpus > 8 * gpus then
        slurm.log_user("%d CPUs are too many for %d GPUs", cpus, gpus)
        return slurm.ESLURM_INVALID_CPU_COUNT
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
