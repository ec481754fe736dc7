# SPDX-License-Identifier: GPL-2.0-or-later
"""The mounts of a process."""

import os
from pathlib import Path

from slurmhooks.files.mounts import parse


def test_escapes_and_optional_fields() -> None:
    """Paths are what the kernel escaped, whatever number of optional fields precedes the type."""
    text = (
        r"36 35 98:0 /a\134040b /mnt/x\040y\011z\012 rw,noatime shared:1 master:2 - nfs4 server:/a ro,vers=4"
        "\n"
        "37 35 0:5 / /dev ro - devtmpfs udev rw\n"
    )
    nfs, dev = parse(text)
    assert (nfs.id, nfs.device, nfs.root, nfs.point) == ("36", "98:0", r"/a\040b", "/mnt/x y\tz\n")
    assert (nfs.options, nfs.kind, nfs.super_options) == (["rw", "noatime"], "nfs4", ["ro", "vers=4"])
    assert (dev.point, dev.options, dev.kind, dev.super_options) == ("/dev", ["ro"], "devtmpfs", ["rw"])


def test_of_this_process() -> None:
    """The device of a visible mount is that of the folder where it is mounted."""
    mounts = {mount.point: mount for mount in parse(Path("/proc/self/mountinfo").read_text())}
    device = os.stat("/proc").st_dev
    assert mounts["/proc"].kind == "proc"
    assert mounts["/proc"].device == f"{os.major(device)}:{os.minor(device)}"
