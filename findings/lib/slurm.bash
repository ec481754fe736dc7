# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by the findings that need Slurm: a private cluster of a release that Debian packages, in a temporary folder.
# It needs root, a Debian machine, and a kernel with namespaces; it changes nothing outside of the folder but installs
# debootstrap if that is missing.
# shellcheck source=plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/plain.bash"

declare -A DEBIAN=([22.05]=bookworm [24.11]=trixie [26.05]=forky)
declare -A PINNED=([22.05]=22.05.8-4+deb12u3 [24.11]=24.11.5-4+deb13u1 [26.05]=26.05.5-1)
keeper=

cluster_down() { # end every process of the cluster
    [[ -z $keeper ]] || kill -KILL "$keeper" 2>/dev/null || true
    [[ -z $keeper ]] || wait "$keeper" 2>/dev/null || true
    keeper=
}
trap 'cluster_down; remove_work' EXIT

root_of() { # RELEASE: make the root file system of a release, once
    root=$work/$1
    [[ ! -e $root ]] || return 0
    command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; } >/dev/null 2>&1
    local mirror script=/usr/share/debootstrap/scripts/sid # that of each release; an older debootstrap has no name for it
    # shellcheck disable=SC2016 # the dollar is apt's
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
    debootstrap --variant=minbase \
        --include=slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins,munge,iproute2,procps,python3-minimal \
        "${DEBIAN[$1]}" "$root" "$mirror" "$script" >"$work/debootstrap.log" 2>&1 || { tail -5 "$work/debootstrap.log"; exit 2; }
    local version
    version=$(chroot "$root" dpkg-query -W -f '${Version}' slurmctld)
    echo "Slurm $1: slurmctld $version of Debian ${DEBIAN[$1]}"
    [[ $version == "${PINNED[$1]}" ]] || { echo "not the version that was tried: ${PINNED[$1]}"; exit 2; }
    chroot "$root" useradd -m -u 2001 -s /bin/bash alice
}

cluster_up() { # RELEASE [LINE...]: start slurmctld and two slurmd, with more lines of slurm.conf
    root_of "$1"
    local release=$1 etc=$root/etc/slurm
    shift
    mkdir -p "$etc"
    cat >"$etc/slurm.conf" <<CONF
ClusterName=finding
SlurmctldHost=ctl(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket=/run/munge/munge.socket.2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
StateSaveLocation=/var/lib/slurm/state
SlurmdSpoolDir=/var/spool/slurmd-%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmdParameters=config_overrides
SlurmctldPort=6917
SelectType=select/cons_tres
ReturnToService=2
SchedulerParameters=sched_interval=2,sched_min_interval=100000
NodeName=n1 NodeHostname=ctl NodeAddr=127.0.0.1 Port=6921 CPUs=4 RealMemory=2000
NodeName=n2 NodeHostname=ctl NodeAddr=127.0.0.1 Port=6922 CPUs=4 RealMemory=2000
PartitionName=debug Nodes=n1,n2 Default=YES MaxTime=INFINITE
CONF
    (($# == 0)) || printf '%s\n' "$@" >>"$etc/slurm.conf"
    # 22.05 has no plugin that leaves cgroups alone, but cgroup/v1 touches none unless another plugin wants it.
    if [[ $release == 22.05 ]]; then echo CgroupPlugin=cgroup/v1; else echo CgroupPlugin=disabled; fi >"$etc/cgroup.conf"
    echo "127.0.0.1 localhost ctl" >"$root/etc/hosts"
    # shellcheck disable=SC2016 # the inner shell expands
    unshare --mount --pid --net --uts --ipc --fork --kill-child -- bash -euc '
        mount --make-rprivate /
        hostname ctl
        ip link set lo up
        # Slurm does not bind to a loopback address alone.
        ip link add br0 type bridge && ip addr add 10.99.0.1/24 dev br0 && ip link set br0 up
        cd "$0"
        mount -t proc proc proc
        mount --rbind /dev dev
        mount --rbind /sys sys
        mount -t tmpfs -o mode=755 tmpfs run
        exec chroot . /bin/sh -c "echo up >/run/up; while :; do sleep 3600; done"' "$root" </dev/null >"$work/keeper.log" 2>&1 &
    keeper=$!
    wait_for "the namespaces" inside test -e /run/up
    # shellcheck disable=SC2016
    inside bash -euc '
        rm -rf /var/lib/slurm/state /var/log/slurm* && mkdir -p /var/lib/slurm/state /run/munge /var/spool/slurmd-n1 /var/spool/slurmd-n2
        chown slurm /var/lib/slurm/state && touch /var/log/slurmctld.log && chown slurm /var/log/slurmctld.log
        chown munge: /run/munge && chown -R munge: /var/log/munge /var/lib/munge /etc/munge && chmod 711 /var/lib/munge && chmod 755 /run/munge
        runuser -u munge -- munged
        slurmctld'
    slurmd n1
    slurmd n2
    wait_for "idle nodes" states 'idle idle'
}

slurmd() { inside slurmd -N "$1"; } # NODE: start its daemon
stop_slurmd() { # NODE: end its daemon
    inside sh -c "kill \$(cat /run/slurmd-$1.pid)"
    wait_for "the end of slurmd" inside sh -c "! pgrep -f 'slurmd -N $1\$|slurmd -b -N $1\$'"
}
site_file() { # NAME LINE...: write a program into /etc/slurm; before cluster_up
    local name=$1
    shift
    mkdir -p "$root/etc/slurm"
    printf '%s\n' '#!/bin/sh' "$@" >"$root/etc/slurm/$name"
    chmod 755 "$root/etc/slurm/$name"
}
state() { inside scontrol show node "$1" | sed -n 's/^ *State=\([^ ]*\).*/\1/p'; } # NODE: as scontrol writes it
state_of() { [[ $(state "$1") == *"$2"* ]]; } # NODE TEXT: whether its state has the text
states() { [[ $(inside sinfo -h -N -p debug -o %t | tr '\n' ' ') == "$1 " ]]; }
inside() { # COMMAND...: run it as root in the cluster
    local pid
    pid=$(pgrep -P "$keeper" | head -n 1) || return 1
    nsenter -t "$pid" -m -p -n -u -i -r -w -- env -i HOME=/root LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
alice() { # COMMAND...: run it as an ordinary user
    inside setpriv --reuid alice --regid alice --init-groups -- env HOME=/home/alice USER=alice sh -c 'cd /home/alice && exec "$@"' sh "$@"
}
wait_for() { # WHAT COMMAND...: until it succeeds, for a minute
    local what=$1 try
    shift
    for ((try = 0; try < 300; try++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.2
    done
    echo "waited a minute for $what" >&2
    tail -n 5 "$root"/var/log/slurm*.log >&2 || true
    exit 2
}
