#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An sbatch that runs in a job hands all variables of this job to the new one. slurmctld replaces those that it sets
# itself, and the others stay: the new job has the number of tasks, the memory and the array task of the job around it.
# srun in the new job takes SLURM_NTASKS for an option: in a job of one task it starts two. With --mem outside and
# --mem-per-cpu inside, both variables are set, and srun ends before it starts anything: "mutually exclusive".
# For: pipelines that submit from jobs, and wrappers around srun.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

cluster_up 24.11
cat >"$root/home/alice/outer.sh" <<'OUTER'
#!/bin/sh
sbatch -Q -o tasks -c 1 --wrap 'srun --overcommit echo task; echo array task $SLURM_ARRAY_TASK_ID; touch tasks-done'
sbatch -Q -o memory --mem-per-cpu=5 --wrap 'srun true; touch memory-done'
OUTER
alice sbatch -Q -a 7 -n 2 --mem=50 -o /dev/null outer.sh
wait_for "the inner jobs" test -e "$root/home/alice/tasks-done" -a -e "$root/home/alice/memory-done"
expect "a job without options" "task task array task 7" "$(tr '\n' ' ' <"$root/home/alice/tasks" | sed 's/ $//')"
expect "a job with --mem-per-cpu" \
    "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive." \
    "$(cat "$root/home/alice/memory")"
finish
