#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# With EnforcePartLimits=NO, a job that asks for more nodes than its partition has may wait until the partition grows:
# 22.05 accepts it, with the reason PartitionConfig. 24.11 refuses it, "Requested node configuration is not available",
# although the option says the same; but it accepts the same job if it is held, and lets it wait after its release.
# For: sites that upgrade and whose users submit before nodes are added; authors of tests that run on several releases.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

for release in 22.05 24.11; do
    cluster_up "$release" EnforcePartLimits=NO
    answer=$(alice sbatch -N5 --wrap true 2>&1) || true
    expected="Submitted batch job 1"
    [[ $release != 24.11 ]] || expected="sbatch: error: Batch job submission failed: Requested node configuration is not available"
    expect "$release, five of two nodes" "$expected" "$answer"
    job=$(alice sbatch --parsable -H -N5 --wrap true)
    inside scontrol release "$job" 2>/dev/null || true
    expect "$release, the same held and released" "PENDING" "$(inside squeue -h -j "$job" -o %T)"
    cluster_down
done
finish
