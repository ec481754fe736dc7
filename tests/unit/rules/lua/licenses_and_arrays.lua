-- SPDX-License-Identifier: GPL-2.0-or-later
-- The partition cad needs its license, nobody takes too many of them, and arrays are small.

local function tasks(spec)
    local count = 0
    for first, rest in string.gmatch(string.gsub(spec, "%%.*", ""), "(%d+)(%-?%d*)") do
        local last = string.match(rest, "%d+")
        count = count + (last and tonumber(last) - tonumber(first) + 1 or 1)
    end
    return count
end

local function licenses(text)
    local result = {}
    for entry in string.gmatch(text or "", "[^,]+") do
        local name, count = string.match(entry, "^([^:]+):?(%d*)$")
        result[name] = (result[name] or 0) + (tonumber(count) or 1)
    end
    return result
end

function slurm_job_submit(job_desc, part_list, submit_uid)
    if submit_uid == 0 then
        return slurm.SUCCESS
    end
    local own = licenses(job_desc.licenses)
    if job_desc.partition == "cad" and own.ansys == nil then
        slurm.log_user("Partition cad needs --licenses=ansys")
        return slurm.ESLURM_INVALID_LICENSES
    end
    if (own.ansys or 0) > 4 then
        slurm.log_user("At most 4 ansys licenses")
        return slurm.ESLURM_INVALID_LICENSES
    end
    if job_desc.array_inx ~= nil and tasks(job_desc.array_inx) > 100 then
        slurm.log_user("At most 100 array tasks, you asked for %d", tasks(job_desc.array_inx))
        return slurm.ESLURM_INVALID_ARRAY
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
