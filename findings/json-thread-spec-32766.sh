#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# In the JSON of Slurm 24.11, every job without --core-spec and --thread-spec has "thread_spec": 32766 and "core_spec":
# 0. Slurm keeps both options in one number, marks threads by its highest bit, and the unset value, 65534, has that bit.
# 22.05 has null for both. Other unset numbers of the same job are objects with "set": false, so nothing says that this
# one is unset.
# For: readers of `squeue --json`, `scontrol --json` and slurmrestd, such as exporters and dashboards.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

declare -A SEEN=([22.05]="None None False" [24.11]="0 32766 False")
for release in 22.05 24.11; do
    cluster_up "$release"
    alice sbatch -Q -H --wrap true
    expect "$release, core_spec, thread_spec, cpu_frequency_minimum" "${SEEN[$release]}" \
        "$(inside squeue --json | python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
print(job["core_spec"], job["thread_spec"], (job["cpu_frequency_minimum"] or {"set": False})["set"])')"
    cluster_down
done
finish
