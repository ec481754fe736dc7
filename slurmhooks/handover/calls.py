# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a call that slurmhooks/handover/program.py has kept; those of power programs: slurmhooks/power/calls.py."""

from __future__ import annotations


def read(message: bytes) -> tuple[list[str], dict[str, str]]:
    """Return the arguments that Slurm gave to a program, and the variables whose names begin with SLURM_.

    Raises:
        ValueError: the message is damaged.
    """
    count, *parts = (part.decode("utf-8", "surrogateescape") for part in message.split(b"\0"))
    if not count.isdecimal() or not 0 < int(count) <= len(parts):
        raise ValueError("a damaged call")
    variables = (part.partition("=") for part in parts[int(count) :])
    return parts[: int(count)], {name: value for name, _, value in variables}
