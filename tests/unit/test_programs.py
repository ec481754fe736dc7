# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that handlers start."""

import signal

from slurmhooks import programs


def test_a_program_can_be_ended() -> None:
    """A program ends with SIGTERM though this process blocks it, and this process blocks it still."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        child = programs.popen(["sleep", "600"])
        child.terminate()
        assert child.wait() == -signal.SIGTERM
        assert {signal.SIGTERM, signal.SIGINT} <= signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
