-- SPDX-License-Identifier: GPL-2.0-or-later
-- Nobody takes the memory of whole nodes; jobs without memory get 4 GB for each CPU; big ones go to bigmem.

local SMALL = 190000

local function number(value)
    if value == slurm.NO_VAL or value == slurm.NO_VAL16 then
        return 0
    end
    return value
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    local per_node = job_desc.min_mem_per_node
    local per_cpu = job_desc.min_mem_per_cpu
    if per_node == 0 or per_cpu == 0 then
        slurm.log_user("--mem=0 is not allowed here: name the memory that you need")
        return slurm.ESLURM_INVALID_TASK_MEMORY
    end
    if per_node == nil and per_cpu == nil then
        job_desc.min_mem_per_cpu = 4096
        return slurm.SUCCESS
    end
    local nodes = math.max(number(job_desc.min_nodes), 1)
    local tasks = math.max(number(job_desc.num_tasks), 1)
    local cpus = math.max(number(job_desc.min_cpus), tasks * math.max(number(job_desc.cpus_per_task), 1))
    if (per_node or per_cpu * math.ceil(cpus / nodes)) >= SMALL and job_desc.partition == nil and job_desc.reservation == nil then
        job_desc.partition = "bigmem"
    end
    if (per_cpu or math.floor(per_node * nodes / cpus)) > 16384 then
        slurm.log_user("At most 16 GB per CPU")
        return slurm.ESLURM_INVALID_TASK_MEMORY
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
