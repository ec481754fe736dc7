#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `scontrol show hostlistsorted` does not give a set: a node that is named twice stays twice, in every release.
# `scontrol show hostlist` does the same, but its name promises nothing. Whoever normalizes lists of nodes this way, to
# compare two of them or to count nodes, gets another text and another number for the same nodes. ClusterShell and
# python-hostlist, which the same scripts use elsewhere, drop duplicates.
# For: authors of prologs, epilogs and inventories that compare lists of nodes.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check ClusterShell==1.10.1 python-hostlist==2.3.0 2>/dev/null
expect "ClusterShell 1.10.1" "n[1-3]" "$("$work/venv/bin/nodeset" -f n3,n1,n2,n1)"
expect "python-hostlist 2.3.0" "n[1-3]" "$("$work/venv/bin/hostlist" n3,n1,n2,n1)"
for release in 22.05 24.11; do
    cluster_up "$release"
    sorted=$(inside scontrol show hostlistsorted n3,n1,n2,n1)
    expect "scontrol $release, sorted" "n[1,1-3]" "$sorted"
    expect "scontrol $release, number of names" 4 "$(inside scontrol show hostnames "$sorted" | wc -l)"
    cluster_down
done
finish
