# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives staging functions access to scrun and Slurm (native/scrun/module.c).

Addresses are those of a ``struct slurmhooks_container``.
"""

from typing import Any

def values(address: int, /) -> dict[str, Any]:
    """Return the texts and numbers of a container, by name; a text that scrun does not give is None."""

def job_env(address: int, /) -> list[str]:
    """Return the entries of the job's environment; in stage_out there are none."""

def cancelled(address: int, /) -> bool:
    """Tell whether scrun has called stage_out while stage_in is running."""

def ask(address: int, function: str, argument: bytes, /) -> tuple[bool, int, bytes]:
    """Call a function of scrun; return whether it failed, its status and output."""

def job_is_over(job_id: int, /) -> bool:
    """Tell whether a job has ended."""

def log(level: int, line: bytes, /) -> None:
    """Write a line to Slurm's log."""

def syslog(line: bytes, /) -> None:
    """Write a line to the system's log."""
