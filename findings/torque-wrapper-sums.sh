#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# qsub of Slurm's wrappers for Torque computes otherwise than Torque. `nodes=1:ppn=2+1:ppn=4` asks for 2 + 4 processors;
# the wrapper adds the nodes, adds the processors of a node, multiplies both sums, and asks for 12 tasks. `mem=1000kb`,
# and any size that is no multiple of a MiB, becomes a fraction (`--mem=0.9765625M`), which sbatch refuses. `cput`, a
# limit of processor time, becomes the limit of the wall clock. And qstat shows 71582788:15:00 as the wall time of a job
# without limit.
# For: users who bring scripts from Torque or PBS, and programs that call qsub.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

field() { inside scontrol -o show job "$1" | grep -o "\b$2=[^ ]*"; } # JOB NAME: NAME=VALUE of a job
root_of 24.11
chroot "$root" sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends slurm-wlm-torque=${PINNED[24.11]}" \
    >"$work/apt.log" 2>&1 || { tail -5 "$work/apt.log"; exit 2; }
cluster_up 24.11
printf '#!/bin/sh\ntrue\n' >"$root/home/alice/job.sh"
job=$(alice qsub -h -l nodes=1:ppn=2+1:ppn=4 job.sh)
expect "nodes=1:ppn=2+1:ppn=4" NumTasks=12 "$(field "$job" NumTasks)"
expect "qstat's wall time of it" "Resource_List.walltime = 71582788:15:00" \
    "$(inside qstat -f "$job" | grep -o 'Resource_List.walltime.*')"
job=$(alice qsub -h -l cput=3600 job.sh)
expect "cput=3600" TimeLimit=01:00:00 "$(field "$job" TimeLimit)"
expect "mem=1000kb" "--mem=0.9765625M: Invalid --mem specification" \
    "$(alice qsub -h -l mem=1000kb job.sh 2>&1 | grep -oE -- '--mem=[^ ]*|Invalid.*' | paste -sd: | sed 's/:/: /')"
finish
