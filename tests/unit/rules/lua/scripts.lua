-- SPDX-License-Identifier: GPL-2.0-or-later
-- Programs are started by srun, and scripts name their shell.

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 or job_desc.script == nil then
        return slurm.SUCCESS
    end
    if string.find("\n" .. job_desc.script, "\n%s*mpirun ") then
        slurm.log_user("Use srun instead of mpirun")
        return slurm.ESLURM_ACCESS_DENIED
    end
    if not string.find(job_desc.script, "^#!/bin/b?a?sh") then
        slurm.log_user("The script has to begin with #!/bin/bash or #!/bin/sh")
        return slurm.ESLURM_ACCESS_DENIED
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
