# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory of notices."""

import os

from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.worker.read_notices import SLOTS, WAYS, ReadNotices

KEYS = st.tuples(st.integers(0, 1 << 32), st.text(max_size=20), st.sampled_from(["2027-05-01", "2027-05-02"]))


@given(st.lists(KEYS, max_size=50))
def test_a_key_is_first_once(keys: list[tuple[int, str, str]]) -> None:
    """Of some keys, each is the first one exactly once."""
    memory, seen = ReadNotices(), set()
    for key in keys:
        assert memory.has(*key) is (key in seen)
        assert memory.add(*key) is (key not in seen)
        seen.add(key)


def test_forked_processes_share_it() -> None:
    """What a forked process notes is known to others."""
    memory = ReadNotices()
    pid = os.fork()
    if not pid:
        memory.add(1, "a", "d")
        os._exit(0)
    os.waitpid(pid, 0)
    assert not memory.add(1, "a", "d")


def test_full_memory_forgets() -> None:
    """With more keys than slots, new keys are still noted, and nothing fails."""
    memory = ReadNotices()
    for number in range(SLOTS + SLOTS // WAYS):
        memory.add(number, "a", "d")
    assert memory.add(-1, "b", "d")
    assert not memory.add(-1, "b", "d")
