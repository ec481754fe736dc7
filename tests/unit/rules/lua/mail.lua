-- SPDX-License-Identifier: GPL-2.0-or-later
-- Mail goes to addresses of the site; who wants mail and names no address gets it at home.

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    local address = job_desc.mail_user
    if address ~= nil then
        local domain = string.match(address, "^.+@([^@]+)$")
        if domain == nil or (domain ~= "example.org" and not string.find(domain, "%.example%.org$")) then
            slurm.log_user("Mail can only be sent to addresses of example.org, not to %s", address)
            return slurm.ESLURM_ACCESS_DENIED
        end
    elseif job_desc.mail_type ~= 0 and job_desc.mail_type ~= slurm.NO_VAL16 and job_desc.user_name ~= nil then
        job_desc.mail_user = job_desc.user_name .. "@example.org"
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
