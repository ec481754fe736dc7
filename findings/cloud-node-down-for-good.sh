#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node in the cloud that a ResumeProgram sets DOWN, because the provider has no machine left, never comes back by
# itself: at ResumeTimeout it becomes DOWN and POWERED_DOWN (down~) and stays so, although its job was requeued and waits for such
# a node. ReturnToService=2 does not help, because no slurmd will register. `state=resume` by hand does.
# For: sites that start nodes in a cloud; a night without capacity ends with a partition of nodes that are down.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

cloud() { inside sinfo -h -N -n c1 -o %t; } # 22.05's scontrol does not show a node of the cloud that is powered down
is() { [[ $(cloud) == "$1" ]]; }
for release in 22.05 24.11; do
    root_of "$release"
    # shellcheck disable=SC2016 # the program expands
    site_file resume 'scontrol update nodename="$1" state=down reason=no_capacity'
    cluster_up "$release" ResumeProgram=/etc/slurm/resume SuspendProgram=/bin/true SuspendTime=600 SuspendExcNodes=n1,n2 \
        ResumeTimeout=10 SuspendTimeout=5 'NodeName=c1 State=CLOUD CPUs=1' 'PartitionName=cloud Nodes=c1'
    alice sbatch -Q -p cloud --wrap true
    wait_for "the answer of ResumeProgram" is 'down#'
    wait_for "ResumeTimeout" is 'down~'
    sleep 30 # three times ResumeTimeout
    expect "$release, the node" 'down~' "$(cloud)"
    expect "$release, its job" PENDING "$(inside squeue -h -o %T)"
    inside scontrol update nodename=c1 state=resume
    expect "$release, after state=resume" 'idle~' "$(cloud)"
    cluster_down
done
finish
