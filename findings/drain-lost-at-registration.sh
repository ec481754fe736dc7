#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A drain is lost if somebody sets it after `scontrol reboot` has begun: when slurmd registers, the node becomes IDLE and
# takes jobs. The drain may come from an administrator, from HealthCheckProgram, which runs before the registration, or
# from a script of the boot. 24.11 even keeps the reason of the drain on the idle node; 22.05 removes it.
# For: sites whose start scripts or health checks drain a node that did not come up well, and whoever reads reasons.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

for release in 22.05 24.11; do
    root_of "$release"
    site_file reboot 'exit 0'
    cluster_up "$release" RebootProgram=/etc/slurm/reboot
    inside scontrol reboot nextstate=RESUME n2
    wait_for "the reboot" state_of n2 REBOOT_ISSUED
    stop_slurmd n2
    inside scontrol update nodename=n2 state=drain reason=no_scratch
    expect "$release, before the registration" DOWN+DRAIN+REBOOT_ISSUED "$(state n2)"
    inside slurmd -b -N n2 # -b: as after a boot
    wait_for "the registration" state_of n2 IDLE
    expect "$release, after the registration" IDLE "$(state n2)"
    kept=no_scratch
    [[ $release != 22.05 ]] || kept=none
    expect "$release, reason of the idle node" "$kept" "$(inside sinfo -h -N -n n2 -p debug -o %E)"
    cluster_down
done
finish
