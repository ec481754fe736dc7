# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the slurm.conf of the slurmctld that has started a program.

slurmctld does not pass SLURM_CONF on to MailProg, to the programs of burst_buffer.lua and, in release 22.05, to
ResvProlog. native/node/program.c does the same for slurmd.
"""

from __future__ import annotations

import os

DAEMONS = (b"slurmctld", b"slurmscriptd")


def follow(proc: str = "/proc") -> None:
    """Set SLURM_CONF to what slurmctld was started with, by its option or variable; leave it if that is not known."""
    pid = b"%d" % os.getppid()
    while "SLURM_CONF" not in os.environ and int(pid) > 1:
        folder = f"{proc}/{pid.decode()}"
        status = _read(f"{folder}/status")
        name, pid = (_value(status, key) for key in (b"Name:", b"PPid:"))
        if not pid.isdigit():
            return
        conf = _named(_read(f"{folder}/cmdline"), _read(f"{folder}/environ")) if name in DAEMONS else b""
        if conf.startswith(b"/"):  # a relative name starts where slurmctld was started
            os.environ["SLURM_CONF"] = os.fsdecode(conf)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # it has ended, or is another user's
        return b""


def _value(status: bytes, key: bytes) -> bytes:
    return status.partition(key)[2].partition(b"\n")[0].strip()


def _named(command: bytes, variables: bytes) -> bytes:
    """Return the slurm.conf of a command line, or of an environment; empty if there is none."""
    words = command.split(b"\0")
    for index, word in enumerate(words):
        if word.startswith(b"-f"):
            return word[2:] or words[index + 1]
    return next((each[11:] for each in variables.split(b"\0") if each.startswith(b"SLURM_CONF=")), b"")
