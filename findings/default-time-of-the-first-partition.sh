#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job for several partitions that names no time limit gets the DefaultTime of the partition that it names first, and
# keeps it wherever it runs: `sbatch -p night,day` starts in "day" with the 16 hours of "night", and `-p day,night` starts
# in "night" with the 10 minutes of "day". The DefaultTime of the partition in which the job runs is never looked at.
# For: authors of rules about time limits, of programs that predict them, and of help pages for users.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

runs() { [[ -n $(inside squeue -h -j "$1" -t RUNNING -o %i) ]]; }
ended() { [[ -z $(inside squeue -h) ]]; }
for release in 22.05 24.11; do
    cluster_up "$release" 'PartitionName=day Nodes=n1 DefaultTime=10 MaxTime=INFINITE' \
        'PartitionName=night Nodes=n2 DefaultTime=960 MaxTime=INFINITE'
    # A node for each partition: which one the job gets, depends on the node that it asks for.
    for case in 'night,day n1 day 16:00:00' 'day,night n2 night 10:00'; do
        read -r partitions node partition limit <<<"$case"
        job=$(alice sbatch --parsable -p "$partitions" -w "$node" -o /dev/null --wrap 'sleep 600')
        wait_for "the job" runs "$job"
        expect "$release, sbatch -p $partitions" "$partition $limit" "$(inside squeue -h -j "$job" -o '%P %l')"
        inside scancel "$job"
        wait_for "its end" ended
    done
    cluster_down
done
finish
