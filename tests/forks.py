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
