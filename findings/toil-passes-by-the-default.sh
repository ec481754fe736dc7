#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# toil does not leave the partition to Slurm: it asks sinfo for all of them and names one in each submission, of those
# whose limit is long enough the one of the lowest priority, and then of the shortest limit. Which partition is the
# default does not count, so on a cluster with a partition of low priority, such as one whose jobs are preempted, all
# jobs of toil go there, although its user has named none. --slurmPartition names another one.
# For: users of toil; administrators whose rules choose or default partitions.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

pip_install toil==9.6.0
mkdir "$work/bin"
cat >"$work/bin/sinfo" <<'SINFO'
#!/bin/sh
# What sinfo prints about two partitions: name, GRES, limit, priority, CPUs, memory.
echo "PARTITION GRES TIMELIMIT PRIO_TIER CPUS MEMORY"
echo "normal* (null) 7-00:00:00 10 64 256000"
echo "preempted (null) 7-00:00:00 1 64 256000"
SINFO
cat >"$work/bin/sbatch" <<'SBATCH'
#!/bin/sh
printf '%s\n' "$@" >>arguments
exit 1
SBATCH
chmod +x "$work"/bin/*
cat >"$work/flow.py" <<'PYTHON'
from toil.common import Toil
from toil.job import Job

options = Job.Runner.getDefaultArgumentParser().parse_args()
with Toil(options) as toil:
    toil.start(Job(memory="50M", cores=1, disk="50M"))
PYTHON
submit() { # OPTION...: the partition that sbatch gets
    rm -rf "$work/store" "$work/arguments"
    (cd "$work" && PATH=$work/bin:$work/venv/bin:$PATH python flow.py ./store --batchSystem=slurm --retryCount=0 \
        --statePollingTimeout=1 "$@" >log 2>&1) || true
    grep -m 1 '^--partition' "$work/arguments" || echo none
}
expect "the partition of a job without one" --partition=preempted "$(submit)"
expect "with --slurmPartition=normal" --partition=normal "$(submit --slurmPartition=normal)"
finish
