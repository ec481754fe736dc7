# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes that run periodic rules share."""

import os
import signal

from slurmhooks.worker.periodic import State


def test_only_one_process_has_the_lock() -> None:
    """While a process has the lock no other one gets it; its end, also by SIGKILL, releases the lock."""
    state = State()
    waits, ends = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(ends, b"1" if state.lock() else b"0")
        signal.pause()
    assert os.read(waits, 1) == b"1"
    assert not state.lock()
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert state.lock()
    state.unlock()
    os.close(waits)
    os.close(ends)


def test_state_is_what_was_written_last() -> None:
    """The state survives its writer, and a longer value is replaced by a shorter one; what is not JSON is empty."""
    state = State()
    assert state.read() == {}
    state.write({"slots": {"rules:old": 1234567890}})
    state.write({"slots": {}})
    assert state.read() == {"slots": {}}
    os.pwrite(state._fd, b"{", 0)
    os.ftruncate(state._fd, 1)
    assert state.read() == {}
