#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# TaskProlog runs for batch scripts, too, not only for the tasks of srun, and if it fails, the script never starts: the
# job ends with the exit code of the TaskProlog, and its output has one line of slurmstepd. A Prolog that fails drains the
# node instead and requeues the job. So a TaskProlog that checks something for parallel programs ends serial jobs.
# For: sites that use TaskProlog for checks.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

for release in 22.05 24.11; do
    root_of "$release"
    site_file task_prolog 'exit 3'
    cluster_up "$release" TaskProlog=/etc/slurm/task_prolog
    code=0
    alice sbatch -Q -W -o out --wrap 'echo the script' || code=$?
    expect "$release, exit code of a script" 3 "$code"
    expect "$release, its output" "slurmstepd-n1: error: TaskProlog failed status=3" "$(cat "$root/home/alice/out")"
    expect "$release, nodes" idle,idle "$(inside sinfo -h -N -p debug -o %t | paste -sd,)"
    cluster_down
done
finish
