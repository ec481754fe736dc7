# SPDX-License-Identifier: GPL-2.0-or-later
"""Which processes the kernel kills first if the machine runs out of memory. Health checks import this."""

from __future__ import annotations

SCORE = "500"


def prefer_to_kill() -> None:
    """Have the kernel kill this process if the machine runs out of memory, rather than the daemon that has started it.

    Sites protect the daemon (OOMScoreAdjust), and what it starts would be protected, too.
    """
    try:
        with open("/proc/self/oom_score_adj", "r+") as file:
            if int(file.read()) < int(SCORE):
                file.write(SCORE)
    except OSError:
        pass  # a container may hide this file
