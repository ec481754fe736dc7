# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory through which a recording is ordered: workers of another user can only read it."""

import os

import pytest

from slurmhooks.processes import process
from slurmhooks.recording.page import MAX_TEXT, RecordingPage

ORDERS = {"number": 7, "file": "/var/log/x", "until": 9.0, "size": 9, "with": [], "tables": ["jobs"]}


def can_be_opened(fd: str) -> bool:
    """Tell whether this process can open the file of one of its descriptors for writing."""
    try:
        os.close(os.open(f"/proc/self/fd/{fd}", os.O_RDWR))
    except OSError:
        return False
    return True


def outcome_in_worker(page: RecordingPage) -> str:
    """Return what a process that has become another user can do with a page."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        result = []
        try:
            page.for_workers()
            before = set(os.listdir("/proc/self/fd"))
            if not os.geteuid():
                process.become(65534)
            result.append(str(page.number))
            result.append(str(page.orders.get("file")))
            for attack in (lambda: page.begin(ORDERS | {"file": "/etc/own"}), page.end, lambda: page.status):
                try:
                    attack()
                    result.append("done")
                except (TypeError, ValueError):
                    result.append("refused")
            held = [fd for fd in before if "memfd:recording" in os.path.realpath(f"/proc/self/fd/{fd}")]
            result.append(f"{sum(map(can_be_opened, held)) if os.getuid() else 0} open for writing")
        finally:
            os.write(write, ", ".join(result).encode())
            os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        text = file.read().decode()
    os.waitpid(pid, 0)
    return text


def test_workers_only_read() -> None:
    """Workers read the number and the orders; they can neither give orders nor end a recording, nor see its status."""
    page = RecordingPage()
    page.begin(ORDERS)
    assert outcome_in_worker(page) == "7, /var/log/x, refused, refused, refused, 0 open for writing"
    assert page.orders == ORDERS
    assert page.number == 7


def test_a_new_recording_begins_with_the_tables() -> None:
    """The time of the next tables belongs to one recording."""
    page = RecordingPage()
    page.begin(ORDERS)
    page.rows_at = 99.0
    assert page.rows_at == 99.0
    page.begin(ORDERS | {"number": 8})
    assert page.rows_at == 0.0


def test_damaged_orders_are_none() -> None:
    """What is not JSON, or nested too deeply, counts as nothing."""
    page = RecordingPage()
    for text in (b"{", b"[" * (MAX_TEXT // 2)):
        page.begin(ORDERS)
        page._memory[16 : 16 + 4 + len(text)] = len(text).to_bytes(4, "little") + text
        assert page.orders == {}


def test_orders_have_a_limit() -> None:
    """Orders that do not fit are refused, and the earlier ones stay."""
    page = RecordingPage()
    page.begin(ORDERS)
    with pytest.raises(ValueError, match="at most"):
        page.begin(ORDERS | {"file": "x" * MAX_TEXT})
    assert page.orders == ORDERS
