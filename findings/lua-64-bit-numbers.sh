#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm marks --mem-per-cpu by bit 63 of pn_min_memory, and "unset" and "infinite" by the two largest 64-bit numbers.
# Its Lua plugins pass such numbers as a double of Lua 5.1, which has 53 bits: after --mem-per-cpu=100,
# job_desc.pn_min_memory is 2^63, so that a script which takes off the bit reads 0, the whole memory; 1500 becomes 2048.
# And slurm.NO_VAL64 == slurm.INFINITE64 is true, so no script can tell them apart. min_mem_per_cpu and min_mem_per_node
# are right.
# For: authors of job_submit.lua, and of tests of such scripts outside of Slurm, where numbers may have 64 bits.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

for release in 22.05 24.11; do
    root_of "$release"
    cat >"$root/etc/slurm/job_submit.lua" <<'LUA'
function slurm_job_submit(job, partitions, uid)
    slurm.log_user("bit off: %.0f, min_mem_per_cpu: %s, NO_VAL64 == INFINITE64: %s", job.pn_min_memory - 2 ^ 63,
        tostring(job.min_mem_per_cpu), tostring(slurm.NO_VAL64 == slurm.INFINITE64))
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
LUA
    cluster_up "$release" JobSubmitPlugins=lua
    for pair in 100=0 1000=0 1500=2048 4096=4096; do
        text=$(alice sbatch -H --mem-per-cpu="${pair%%=*}" --wrap true 2>&1 | grep 'bit off')
        expect "$release, --mem-per-cpu=${pair%%=*}" \
            "bit off: ${pair#*=}, min_mem_per_cpu: ${pair%%=*}, NO_VAL64 == INFINITE64: true" "${text#sbatch: }"
    done
    cluster_down
done
finish
