# SPDX-License-Identifier: GPL-2.0-or-later
"""What handlers do that fork."""

import os
import time


def become_a_daemon() -> None:
    """End this process, and leave a child that stays longer than any test waits."""
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(10)
    os._exit(0)


def keeps_files_in_forks() -> bool:
    """Fork a process that opens files and forks another one; return whether that one has all of them."""
    child = os.fork()
    if not child:
        files = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
        if not (last := os.fork()):
            os._exit(sum(not os.path.exists(f"/proc/self/fd/{file}") for file in files))
        os._exit(os.waitstatus_to_exitcode(os.waitpid(last, 0)[1]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
