-- SPDX-License-Identifier: GPL-2.0-or-later
-- The QOS follows from the time limit; the partition long needs a QOS of its own.

function slurm_job_submit(job_desc, part_list, submit_uid)
    if job_desc.qos == nil and job_desc.time_limit ~= slurm.NO_VAL then
        if job_desc.time_limit <= 60 then
            job_desc.qos = "short"
        elseif job_desc.time_limit <= 2880 then
            job_desc.qos = "medium"
        else
            job_desc.qos = "long"
        end
        slurm.log_info("qos %s for job of uid %d", job_desc.qos, submit_uid)
    end
    if submit_uid ~= 0 and job_desc.partition == "long" then
        if job_desc.qos == nil or string.sub(job_desc.qos, 1, 4) ~= "long" then
            slurm.log_user("Partition long needs --qos=long")
            return slurm.ESLURM_INVALID_QOS
        end
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
