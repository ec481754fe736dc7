#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld 22.05 forgets at `scontrol reconfigure` what is to become of a node that reboots: with nextstate=RESUME, a
# drained node comes back idle, but stays drained if anybody has reconfigured during the reboot. 24.11 remembers it.
# For: rolling reboots by `scontrol reboot nextstate=RESUME`, and configuration management that reconfigures meanwhile.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

rebooted() { # [COMMAND...]: drain n2, reboot it, run the command meanwhile, and return its state afterwards
    inside scontrol update nodename=n2 state=drain reason=new_kernel
    inside scontrol reboot ASAP nextstate=RESUME n2
    wait_for "the reboot" state_of n2 REBOOT_ISSUED
    stop_slurmd n2
    (($# == 0)) || inside "$@"
    sleep 2 # slurmctld ignores a boot in the second in which it was asked for
    inside slurmd -b -N n2
    wait_for "the end of the reboot" done_on n2
    state n2
}
done_on() { ! state_of "$1" REBOOT && ! state_of "$1" DOWN; }

declare -A forgotten=([22.05]=IDLE+DRAIN [24.11]=IDLE)
for release in 22.05 24.11; do
    root_of "$release"
    site_file reboot 'exit 0'
    cluster_up "$release" RebootProgram=/etc/slurm/reboot
    expect "$release, after a reboot" IDLE "$(rebooted)"
    sleep 2
    expect "$release, after one with a reconfiguration in it" "${forgotten[$release]}" "$(rebooted scontrol reconfigure)"
    cluster_down
done
finish
