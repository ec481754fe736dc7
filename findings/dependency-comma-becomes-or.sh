#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld 22.05 and 24.11 take a list of dependencies with both signs, "," for and, "?" for or, and let one "?" anywhere
# make alternatives of all of them: with afterany:1,afterany:2?afternotok:2 a job starts although job 1 has not ended.
# 26.05 refuses such a list.
# For: workflows and site policies that append a dependency, with a comma, to what a user has given.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

is_over() { [[ -z $(inside squeue -h -j "$1" 2>/dev/null) ]]; }

for release in 22.05 24.11 26.05; do
    cluster_up "$release"
    held=$(alice sbatch --parsable --hold -o /dev/null --wrap true)
    brief=$(alice sbatch --parsable -o /dev/null --wrap 'sleep 2')
    list="afterany:$held,afterany:$brief?afternotok:$brief"
    said=$(alice sbatch --parsable -d "$list" -o /dev/null --wrap true 2>&1) || true
    if [[ $release == 26.05 ]]; then
        expect "$release, both signs" "sbatch: error: Batch job submission failed: Job dependency problem" "$said"
    else
        wait_for "the end of the dependent job" is_over "$said"
        expect "$release, what the job should have waited for" PENDING "$(inside squeue -h -j "$held" -o %T)"
    fi
    cluster_down
done
finish
