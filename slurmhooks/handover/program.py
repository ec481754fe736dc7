# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm runs as MailProg, ResumeProgram and the like: keeps the call in a spool, sees that it is delivered, ends.

``python -m slurmhooks.handover.program HOOK ARGUMENTS``; it loads no hook file. The process is SlurmUser's.

Slurm does not call a program again that was killed before it has kept its call. So the call is kept as it came, before
anything is parsed or imported that this does not need; tests/unit/power/test_handover.py lists the imports.
"""

from __future__ import annotations

import os
import sys
import time

from slurmhooks.files import durable, slurm_conf
from slurmhooks.hooks.points import HANDED_OVER, POINTS
from slurmhooks.jobcomp.layout import segment
from slurmhooks.processes import daemon, deliverer

MOST = 3
"""Arguments that Slurm gives to a program at most: to MailProg ``-s``, the subject and the recipients."""
DIGITS = 20
"""Digits at the beginning of the name of a segment, which say its place: nanoseconds since 1970, or more."""
SECOND = 10**9
"""In nanoseconds."""
START = 19
"""The start of the process, in ticks since the boot, among the words of /proc/self/stat after the name."""
HOOKS = tuple(spec.name for point in HANDED_OVER for spec in POINTS[point].hooks)


def keep(spool: str, hook: str, *given: str) -> None:
    """Write a call to the spool; it is on the disk when this function returns.

    Raises:
        OSError: it cannot be written, or there is no StateSaveLocation.
    """
    for folder in (os.path.dirname(spool), spool):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
    began = _began()
    # Segments are read in the order of their names: a call comes after all that wait, even if the clock was set back.
    # Slurm may start two programs at once, as for the begin and the end of a short job: the older process comes first.
    number = began
    names = os.listdir(spool)
    last = max((int(name[:DIGITS]) for name in names if name[:DIGITS].isdecimal()), default=0)
    if last > began + SECOND:
        number = last + 1
    while (name := f"{number:0{DIGITS}}{os.getpid():010}{deliverer.SEGMENT}") in names:
        number += 1  # nothing may be lost
    job_id = os.environ.get("SLURM_JOB_ID", "") if hook == "mail" else ""
    job = int(job_id) % (1 << 32) if job_id.isdecimal() and len(job_id) <= DIGITS else 0
    durable.write(f"{spool}/{name}", segment(hook, time.time_ns(), _message(hook, given), job))


def _began() -> int:
    """Return when this process began, in nanoseconds since 1970; the kernel knows it to a hundredth of a second.

    It is the same for all that began in the same hundredth, whenever they ask: then the ids of processes decide.
    """
    with open("/proc/self/stat", "rb") as file:
        ticks = int(file.read().rpartition(b")")[2].split()[START])
    with open("/proc/stat", "rb") as file:
        boot = int(file.read().partition(b"\nbtime ")[2].split()[0])
    return boot * SECOND + ticks * SECOND // os.sysconf("SC_CLK_TCK")


def _message(hook: str, given: tuple[str, ...]) -> bytes:
    """Return what slurmhooks/power/calls.py or slurmhooks/handover/calls.py reads; no part of it has NUL bytes."""
    if hook.startswith("power."):
        nodes, features = (*given, "")[:2]
        texts = (os.fsencode(text) for text in (nodes, features, os.environ.get("SLURM_JOB_ID", "")))
        return b"\0".join((*texts, _resume_file()))
    variables = (f"{name}={value}" for name, value in os.environ.items() if name.startswith("SLURM_"))
    return b"\0".join(os.fsencode(text) for text in (str(len(given)), *given, *variables))


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
        sys.stderr.write(f"usage: python -m slurmhooks.handover.program {'|'.join(HOOKS)} ARGUMENTS\n")
        return 2
    daemon.follow()
    if hook == "power.reboot" and os.geteuid() != slurm_conf.slurm_user():
        # slurmd gives the features, or nothing, as the first argument.
        sys.stderr.write("RebootProgram runs on a node: add SlurmctldParameters=reboot_from_controller to slurm.conf\n")
        return 2
    os.umask(0o077)
    point = hook.partition(".")[0]
    spool = deliverer.place(point)
    what = f"{hook} of {given[-1 if point == 'mail' else 0]}"
    try:
        keep(spool, hook, *given)
    except OSError as error:
        why = f"it cannot be kept in {spool}: {error.strerror}; repair that: Slurm does not repeat a call"
        _tell(f"{what} is lost: {why}")
        return 1
    try:
        deliverer.start(deliverer.folder(point))
    except OSError as error:
        _tell(f"{what} waits in {spool}: its delivery cannot be started: {error.strerror}")
    return 0


def _tell(text: str) -> None:
    """Say it in the system's log, and to slurmctld."""
    deliverer.to_system_log(text)
    if sys.stderr is not None:  # 22.05 closes it
        sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
