#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a small OCI bundle with BusyBox and one command. Runs inside a cluster, as the owner of the bundle.

Usage: make_bundle.py DIR COMMAND [ARG...]
"""

import json
import os
import shutil
import sys
from pathlib import Path

BUSYBOX = "/bin/busybox"
APPLETS = ("cat", "echo", "env", "false", "hostname", "id", "ls", "sh", "sleep", "true")


def config(command: list[str]) -> dict[str, object]:
    """Return a configuration that a rootless runtime accepts without a network or cgroup namespace of its own."""
    return {
        "ociVersion": "1.0.0",
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": command, "env": ["PATH=/bin"], "cwd": "/"},
        "root": {"path": "rootfs", "readonly": False},
        "hostname": "container",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
        ],
        "linux": {
            "uidMappings": [{"containerID": 0, "hostID": os.getuid(), "size": 1}],
            "gidMappings": [{"containerID": 0, "hostID": os.getgid(), "size": 1}],
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "user")],
        },
    }


def main() -> None:
    """Create the bundle, and replace an existing one."""
    bundle, command = Path(sys.argv[1]), sys.argv[2:]
    shutil.rmtree(bundle, ignore_errors=True)
    for name in ("bin", "dev", "etc", "proc", "sys", "tmp"):
        (bundle / "rootfs" / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, bundle / "rootfs" / "bin" / "busybox")
    for applet in APPLETS:
        (bundle / "rootfs" / "bin" / applet).symlink_to("busybox")
    (bundle / "config.json").write_text(json.dumps(config(command), indent=2))


main()
