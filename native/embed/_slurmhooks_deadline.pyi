# SPDX-License-Identifier: GPL-2.0-or-later
"""The types of deadline.c."""

NUMBER: int

def begin(seconds: float, again: float, what: str, interrupts: bool, ends: int, /) -> None: ...
def end() -> None: ...
