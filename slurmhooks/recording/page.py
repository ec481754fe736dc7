# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that supervisor, collector and workers share: orders and status of a recording.

The supervisor writes the orders and starts a recording; the collector writes the status and ends it; workers read one
byte per request. Each part has one writer, and its content is only a hint: a reader ignores a text that is only partly
written.

Workers may run as another user, who must not be able to give orders: a generation keeps the orders only for reading,
and nothing of the status.
"""

from __future__ import annotations

import json
import os
from mmap import PROT_READ, mmap
from struct import Struct
from typing import Any

_SIZE = 4096
_NUMBER = 0
_LENGTH = Struct("<I")
_TEXT = 16
_ROWS = Struct("<Bd")
MAX_TEXT = _SIZE - _TEXT - _LENGTH.size
"""Maximum bytes of the orders, and of the status."""


class RecordingPage:
    """The memory; processes that are forked after its creation share it."""

    def __init__(self) -> None:
        fd = os.memfd_create("recording", os.MFD_CLOEXEC)
        try:
            os.ftruncate(fd, _SIZE)
            # Another user who has a descriptor that is open for reading cannot open it again for writing.
            os.fchmod(fd, 0o600)
            self._readable = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
            self._memory = mmap(fd, _SIZE)
        finally:
            os.close(fd)
        self._state = mmap(-1, _SIZE)
        self._rows = mmap(-1, _ROWS.size)

    def for_workers(self) -> None:
        """Give up, in a generation, every right except reading the orders; before any code of a site runs."""
        self._memory.close()
        self._memory = mmap(self._readable, _SIZE, prot=PROT_READ)
        os.close(self._readable)
        self._state.close()
        self._rows = mmap(-1, _ROWS.size)  # shared by the workers of this generation only

    @property
    def number(self) -> int:
        """The number of the running recording, 1 to 255; 0 if none is running. Costs 0.1 us to read."""
        return self._memory[_NUMBER]

    def begin(self, orders: dict[str, Any]) -> None:
        """Start to record requests.

        Raises:
            ValueError: the orders are too long.
        """
        self._write(self._memory, orders)
        self._write(self._state, {})
        self._memory[_NUMBER] = int(orders["number"])

    def end(self) -> None:
        """Stop recording requests."""
        self._memory[_NUMBER] = 0

    @property
    def orders(self) -> dict[str, Any]:
        """What to record: ``number``, ``file``, ``until``, ``size``, ``with`` and ``tables``; empty: unknown."""
        return self._read(self._memory)

    @property
    def status(self) -> dict[str, Any]:
        """The status of the recorder, see Recorder.status; empty if there is none yet."""
        return self._read(self._state)

    @status.setter
    def status(self, content: dict[str, Any]) -> None:
        self._write(self._state, content)

    @property
    def rows_at(self) -> float:
        """When the tables are to be recorded again, in seconds since the epoch; set by the worker that records them."""
        number, at = _ROWS.unpack_from(self._rows)
        return float(at) if number == self.number else 0.0

    @rows_at.setter
    def rows_at(self, seconds: float) -> None:
        _ROWS.pack_into(self._rows, 0, self.number, seconds)

    def _write(self, memory: mmap, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        if len(data) > MAX_TEXT:
            raise ValueError(f"{len(data)} bytes; at most {MAX_TEXT} are possible")
        memory[_TEXT : _TEXT + _LENGTH.size + len(data)] = _LENGTH.pack(len(data)) + data

    def _read(self, memory: mmap) -> dict[str, Any]:
        (size,) = _LENGTH.unpack_from(memory, _TEXT)
        start = _TEXT + _LENGTH.size
        try:
            value = json.loads(memory[start : start + min(size, MAX_TEXT)])
        except (ValueError, RecursionError):  # nothing yet, or only partly written, or not by slurmhooks
            return {}
        return value if isinstance(value, dict) else {}


page: RecordingPage | None = None
"""The page of this process, which forked processes inherit; None in a process without a supervisor."""
