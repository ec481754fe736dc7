# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks slurmctld about nodes, and drains them; the functions raise OSError if slurmctld does not answer or refuses."""

from typing import TypedDict

class Known(TypedDict):
    """What slurmctld knows about a node; see slurmhooks.node.draining."""

    reason: str | None
    own: bool
    time: int
    state: int
    next_state: int
    load: str

def node(name: str, /) -> Known:
    """Return what slurmctld knows about a node."""

def drained() -> tuple[int, list[tuple[int, int, str, str | None]]]:
    """Return the number of nodes; and time, index, name and reason of each that this process's user has drained."""

def drain(name: str, reason: bytes, /) -> None:
    """Drain a node with a reason."""

def fail(name: str, reason: bytes, /) -> None:
    """Set a node to FAIL with a reason."""

def undrain(name: str, reason: bytes | None, /) -> None:
    """Undrain a node; set a reason if it is not None."""

def die_with_parent() -> None:
    """End this process when the one that forked it has ended."""

def log(level: int, line: bytes, /) -> None:
    """Write a line to Slurm's log."""

def syslog(line: bytes, /) -> None:
    """Write a line to the system's log."""
