# SPDX-License-Identifier: GPL-2.0-or-later
"""A coverage-guided fuzzer for readers that are written in Python, as libFuzzer is for readers in C."""

import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from slurmhooks import __file__ as package

LONGEST = 4096
"""Bytes of an input."""
SPECIAL = (b"\0", b"\xff", b"\x7f", b"\x80", b"\r", b"\n", b"\x1b[2J", b"\xe2\x80\xae", b"%n", b"%s", b"-1", b"9" * 30)
NUMBERS = (0, 1, 2, 7, 8, 0x7F, 0xFF, 0xFFFE, 0xFFFF, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 63, (1 << 64) - 1)
_PACKAGE = str(Path(package).parent)


class Fuzzer:
    """Runs a target with changed inputs, and keeps those that reach new lines.

    Attributes:
        runs: how many inputs were run.
        corpus: the inputs that reached new lines.
    """

    def __init__(
        self, target: Callable[[bytes], object], corpus: Iterable[bytes], tokens: Sequence[bytes] = ()
    ) -> None:
        """Prepare.

        Args:
            target: raises an exception for a finding.
            corpus: inputs to begin with.
            tokens: pieces of which inputs are made.
        """
        self.runs = 0
        self.corpus: list[bytes] = []
        self._target = target
        self._first = list(corpus) or [b""]
        self._tokens = [*tokens, *SPECIAL]
        self._lines: set[tuple[object, int]] = set()
        self._new = False

    def run(self, seconds: float, seed: int) -> None:
        """Run changed inputs for some time.

        Raises:
            Exception: whatever the target raises, with the input as a note.
        """
        chance = random.Random(seed)
        for data in self._first:
            self.one(data)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(100):
                self.one(self._changed(chance))

    def one(self, data: bytes) -> None:
        """Run one input."""
        self.runs += 1
        self._new = False
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            self._target(data)
        except BaseException as error:
            error.add_note(f"the input is {data!r}")
            raise
        finally:
            sys.settrace(before)
        if self._new:
            self.corpus.append(data)

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._line if frame.f_code.co_filename.startswith(_PACKAGE) else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        place = (frame.f_code, frame.f_lineno)
        if place not in self._lines:
            self._lines.add(place)
            self._new = True
        return self._line

    def _changed(self, chance: random.Random) -> bytes:
        """Return a changed input of the corpus."""
        data = bytearray(chance.choice(self.corpus))
        for _ in range(chance.choice((1, 1, 2, 3, 8))):
            at = chance.randrange(len(data) + 1)
            what = chance.randrange(8)
            if what == 0 and data:
                data[at % len(data)] ^= 1 << chance.randrange(8)
            elif what == 1:
                data[at:at] = chance.randbytes(chance.randint(1, 4))
            elif what == 2:
                del data[at : at + chance.choice((1, 1, 2, 8, 64))]
            elif what == 3:
                data[at:at] = chance.choice(self._tokens)
            elif what == 4:
                data[at : at + chance.randint(1, 16)] = chance.choice(self._tokens)
            elif what == 5:
                width = chance.choice((1, 2, 4, 8))
                number = chance.choice(NUMBERS) + chance.randint(-1, 1)
                data[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
            elif what == 6:
                part = data[at : at + chance.randint(1, 32)]
                data[at:at] = part * chance.choice((1, 1, 2, 16))
            else:
                other = chance.choice(self.corpus)
                start = chance.randrange(len(other) + 1)
                data[at:] = other[start:]
        return bytes(data[:LONGEST])
