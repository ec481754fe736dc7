# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that supervisor, collector and workers share: orders and status of a recording.

The supervisor writes the orders and starts a recording; the collector writes the status and ends it; workers read one
byte per request. Each part has one writer, and its content is only a hint: a reader ignores a text that is only partly
written.
"""

from __future__ import annotations

import json
from mmap import mmap
from struct import Struct
from typing import Any

_SIZE = 8192
_NUMBER = 0
_ROWS_AT = Struct("<d")
_ROWS = 8
_LENGTH = Struct("<I")
_ORDERS, _STATUS = 16, 4096
MOST = _STATUS - _ORDERS - _LENGTH.size
"""Maximum bytes of the orders, and of the status."""


class Page:
    """The memory; processes that are forked after its creation share it."""

    def __init__(self) -> None:
        """Create the memory, in the state that nothing is recorded."""
        self._memory = mmap(-1, _SIZE)

    @property
    def number(self) -> int:
        """The number of the running recording, 1 to 255; 0 if none is running. Costs 0.1 us to read."""
        return self._memory[_NUMBER]

    def begin(self, orders: dict[str, Any]) -> None:
        """Start to record requests.

        Args:
            orders: see :attr:`orders`.

        Raises:
            ValueError: the orders are too long.
        """
        self._write(_ORDERS, orders)
        self._write(_STATUS, {})
        self.rows_at = 0.0
        self._memory[_NUMBER] = int(orders["number"])

    def end(self) -> None:
        """Stop recording requests."""
        self._memory[_NUMBER] = 0

    @property
    def orders(self) -> dict[str, Any]:
        """What to record: ``number``, ``file``, ``until``, ``size``, ``with`` and ``tables``; empty: unknown."""
        return self._read(_ORDERS)

    @property
    def status(self) -> dict[str, Any]:
        """The status of the recorder, see Recorder.status; empty if there is none yet."""
        return self._read(_STATUS)

    @status.setter
    def status(self, content: dict[str, Any]) -> None:
        self._write(_STATUS, content)

    @property
    def rows_at(self) -> float:
        """When the tables are to be recorded again, in seconds since the epoch; set by the worker that records them."""
        at: float = _ROWS_AT.unpack_from(self._memory, _ROWS)[0]
        return at

    @rows_at.setter
    def rows_at(self, seconds: float) -> None:
        _ROWS_AT.pack_into(self._memory, _ROWS, seconds)

    def _write(self, place: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        if len(data) > MOST:
            raise ValueError(f"{len(data)} bytes; at most {MOST} are possible")
        self._memory[place : place + _LENGTH.size + len(data)] = _LENGTH.pack(len(data)) + data

    def _read(self, place: int) -> dict[str, Any]:
        (size,) = _LENGTH.unpack_from(self._memory, place)
        start = place + _LENGTH.size
        try:
            value = json.loads(self._memory[start : start + min(size, MOST)])
        except ValueError:  # nothing yet, or only partly written
            return {}
        return value if isinstance(value, dict) else {}


page: Page | None = None
"""The page of this process, which forked processes inherit; None in a process without a supervisor."""
