# SPDX-License-Identifier: GPL-2.0-or-later
"""Mount a file system over a file or folder inside a cluster, and answer none of its requests until SIGTERM.

This simulates a network file system whose server is gone: any process that accesses it waits until SIGKILL.
"""

import ctypes
import os
import signal
import stat
import sys

DEVICE = "/root/fuse"


def main(path: str) -> None:
    """Mount, print the process id, wait, and unmount."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    if not os.path.exists(DEVICE):
        os.mknod(DEVICE, stat.S_IFCHR | 0o600, os.makedev(10, 229))
    fd = os.open(DEVICE, os.O_RDWR)
    mode = stat.S_IFMT(os.stat(path).st_mode)
    options = f"fd={fd},rootmode={mode:o},user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"stuck", path.encode(), b"fuse", 0, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print(os.getpid(), flush=True)  # noqa: T201
    signal.sigwait([signal.SIGTERM])
    libc.umount2(path.encode(), 2)  # MNT_DETACH, because the mount is in use
    os.close(fd)  # waiting processes get an error


if __name__ == "__main__":
    main(sys.argv[1])
