# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm's power programs run: keeps the call in the spool, sees that a process delivers it, and ends.

``python -m slurmhooks.power.handover HOOK NODES [FEATURES]``; it loads no hook file. The process is SlurmUser's.

Slurm does not call a program again that was killed before it has kept its call. So the call is kept as it came, before
anything is parsed or imported that this does not need; tests/unit/power/test_handover.py lists the imports.
"""

from __future__ import annotations

import os
import sys
import time

from slurmhooks.files import durable, slurm_conf
from slurmhooks.hooks.points import POINTS
from slurmhooks.jobcomp.layout import segment
from slurmhooks.processes import deliverer

MOST = 2
"""Arguments that Slurm gives to a program: the nodes, and sometimes features."""
DIGITS = 20
"""Digits at the beginning of the name of a segment, which say its place: nanoseconds since 1970, or more."""
HOOKS = tuple(spec.short_name for spec in POINTS["power"].hooks)


def keep(spool: str, hook: str, nodes: str, features: str = "") -> None:
    """Write a call to the spool; it is on the disk when this function returns.

    Args:
        spool: its folder.
        hook: the name below ``hook.power``.
        nodes: the host list.
        features: those that the nodes get; empty: those that they have.

    Raises:
        OSError: it cannot be written, or there is no StateSaveLocation.
    """
    for folder in (os.path.dirname(spool), spool):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
    # slurmhooks/power/calls.py reads it. Neither arguments nor the environment have NUL bytes.
    texts = (os.fsencode(text) for text in (nodes, features, os.environ.get("SLURM_JOB_ID", "")))
    message = b"\0".join((*texts, _resume_file()))
    now = time.time_ns()
    # Segments are read in the order of their names: a call comes after all that wait, even if the clock was set back.
    # Two programs that start in the same nanosecond differ by process.
    number = max([now, *(1 + int(name[:DIGITS]) for name in os.listdir(spool) if name[:DIGITS].isdecimal())])
    name = f"{number:0{DIGITS}}{os.getpid():010}{deliverer.SEGMENT}"
    durable.write(f"{spool}/{name}", segment(f"power.{hook}", now, message))


def _resume_file() -> bytes:
    """Return the content of SLURM_RESUME_FILE; nothing if it cannot be read."""
    try:
        with open(os.environ["SLURM_RESUME_FILE"], "rb") as file:
            return file.read()
    except (KeyError, OSError):
        return b""


def main(arguments: list[str]) -> int:
    """Hand a call over; return 0 if it is kept."""
    hook, *given = arguments or ("",)
    if hook not in HOOKS or not 1 <= len(given) <= MOST:
        sys.stderr.write(f"usage: python -m slurmhooks.power.handover {'|'.join(HOOKS)} NODES [FEATURES]\n")
        return 2
    if hook == "reboot" and os.geteuid() != slurm_conf.slurm_user():
        # slurmd gives the features, or nothing, as the first argument.
        sys.stderr.write("RebootProgram runs on a node: add SlurmctldParameters=reboot_from_controller to slurm.conf\n")
        return 2
    os.umask(0o077)
    spool = deliverer.place()
    try:
        keep(spool, hook, *given)
    except OSError as error:
        text = (
            f"power.{hook} of {given[0]} is lost: it cannot be kept in {spool}: {error.strerror}; repair that: Slurm"
            " does not repeat a call"
        )
        deliverer.to_system_log(text)
        if sys.stderr is not None:  # 22.05 closes it
            sys.stderr.write(f"{text}\n")
        return 1
    deliverer.start(deliverer.folder())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
