#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A mount of an OCI bundle whose options are ["ro", "rw"] is writable under runc, for which the last one counts, and
# read-only under crun, for which `ro` is final. The specification names both options and says nothing about their order.
# Tools that add an option to a list that a user or an engine has written produce such lists.
# For: authors of programs that change config.json between an engine and a runtime, such as scrun's staging.
# shellcheck source=lib/plain.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/plain.bash"

deb_unpack runc=1.1.5+ds1-1+deb12u1 crun=1.8.1-1+deb12u1 libyajl2=2.1.0-3+deb12u2 libseccomp2=2.5.4-1+deb12u1 \
    busybox-static=1:1.35.0-4+deb12u1+b1
bundle=$work/bundle
mkdir -p "$bundle/rootfs/bin" "$bundle/rootfs/data" "$bundle/rootfs/proc" "$work/source"
cp "$work/debs/bin/busybox" "$bundle/rootfs/bin/sh"
cat >"$bundle/make.py" <<'PYTHON'
import json, sys

options, source = sys.argv[1].split(","), sys.argv[2]
json.dump(
    {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": ["/bin/sh", "-c", "(: >/data/written) 2>/dev/null && echo writable || echo read-only"],
            "env": ["PATH=/bin"],
            "cwd": "/",
        },
        "root": {"path": "rootfs"},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/data", "type": "none", "source": source, "options": ["bind", *options]},
        ],
        "linux": {"namespaces": [{"type": "mount"}, {"type": "pid"}]},
    },
    open("config.json", "w"),
)
PYTHON
run() { # RUNTIME OPTIONS: what a container with this mount can do
    (cd "$bundle" && python3 make.py "$2" "$work/source")
    # A mount namespace in which the runtimes see one plain tree of cgroups, whatever this machine has.
    # shellcheck disable=SC2016 # the inner shell expands
    unshare --mount -- sh -ec '
        mount -t cgroup2 none /sys/fs/cgroup
        cd "$1" && exec env LD_LIBRARY_PATH="$2" "$3" --root "$1/state" run finding 2>/dev/null' sh \
        "$bundle" "$work/debs/usr/lib/x86_64-linux-gnu" "$(find "$work/debs/usr" -type f -name "$1" -perm -u+x | head -n 1)"
}
for runtime in runc crun; do
    expect "$runtime, rw" writable "$(run "$runtime" rw)"
    expect "$runtime, ro" read-only "$(run "$runtime" ro)"
    expect "$runtime, rw,ro" read-only "$(run "$runtime" rw,ro)"
done
expect "runc, ro,rw" writable "$(run runc ro,rw)"
expect "crun, ro,rw" read-only "$(run crun ro,rw)"
finish
