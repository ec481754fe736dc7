-- SPDX-License-Identifier: GPL-2.0-or-later
-- No reserved names, no node lists, no jobs in home directories.

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    local name = job_desc.name or ""
    if name == "healthcheck" or string.find(name, "^sys%-") then
        slurm.log_user("The job name %s is reserved", name)
        return slurm.ESLURM_ACCESS_DENIED
    end
    if job_desc.req_nodes ~= nil then
        slurm.log_user("Please do not select nodes by name; use --constraint")
        return slurm.ESLURM_INVALID_NODE_NAME
    end
    if job_desc.work_dir ~= nil and (job_desc.work_dir == "/home" or string.find(job_desc.work_dir, "^/home/")) then
        slurm.log_user("Jobs must not run in /home: use /scratch")
        return slurm.ESLURM_ACCESS_DENIED
    end
    if job_desc.features == nil then
        job_desc.features = "rome|milan"
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
