#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `scontrol reboot ASAP` drains a node until it boots, without a reason of its own if the node has one already: a node
# that was drained for its disk keeps "disk" as the reason for the drain of the reboot. So a tool that ends the drains
# that have its own reason, as health checks do, also ends that of the reboot, and the node waits for its jobs for ever.
# For: authors of health checks and of anything that undrains by reason.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

for release in 22.05 24.11; do
    root_of "$release"
    site_file reboot 'exit 0'
    cluster_up "$release" RebootProgram=/etc/slurm/reboot
    alice sbatch -Q -w n2 --wrap "sleep 300"
    wait_for "the job" state_of n2 MIXED
    inside scontrol update nodename=n2 state=drain reason=disk
    inside scontrol reboot ASAP nextstate=RESUME n2
    wait_for "the request" state_of n2 REBOOT_REQUESTED
    expect "$release, requested" MIXED+DRAIN+REBOOT_REQUESTED "$(state n2)"
    expect "$release, reason" disk "$(inside sinfo -h -N -n n2 -p debug -o %E)"
    inside scontrol update nodename=n2 state=undrain
    left=$(state n2)
    expect "$release, undrained by the owner of the reason" MIXED+REBOOT_REQUESTED "${left%+NOT_RESPONDING}"
    cluster_down
done
finish
