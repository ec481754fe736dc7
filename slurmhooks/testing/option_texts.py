# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read the values of options, and print them again; test_cli_filter_writes.py compares them.

Of options that are not in :data:`MODELLED`, any value is accepted, and printed as it is.
"""

from __future__ import annotations

import re

from slurmhooks.cli_filter.fields import FIELDS, Memory, Minutes, NodeCount, Number
from slurmhooks.job_submit import strings
from slurmhooks.values import UNLIMITED

BY_OPTION = {field.option: field for field in FIELDS.values()}
_SET = """
    async consolidate-segments contiguous debugger-test disable-status exact external external-launcher hold ignore-pbs
    interactive label multi-prog no-allocate no-shell overcommit overlap parsable preserve-env quit-on-interrupt reboot
    spread-job spread-segments stepmgr test-only unbuffered use-min-nodes whole
"""
FLAGS = {
    **dict.fromkeys(_SET.split(), "set"),
    "bell": "bell-always",
    "no-bell": "bell-never",
    "no-requeue": "no-requeue",
    "oversubscribe": "oversubscribe",
    "quiet": "1",
}
"""The texts of options without a value, which any value sets."""
ALONE = {
    **FLAGS,
    "bcast": "set",
    "compress": "lz4",
    "exclusive": "exclusive",
    "get-user-env": "set",
    "immediate": "1",
    "kill-command": "TERM",
    "kill-on-bad-exit": "1",
    "nice": "100",
    "no-kill": "set",
    "oom-kill-step": "1",
    "propagate": "ALL",
    "pty": "",
    "requeue": "requeue",
    "resv-ports": "0",
    "send-libs": "yes",
    "verbose": "1",
    "wait": "set",
    "wait-for-children": "set",
    "x11": "all",
}
"""The texts of all options that may be given without a value."""
ENDING = frozenset({"autocomplete", "help", "usage", "version"})
"""Options with which the command prints something and ends."""
_FROM_1 = "cpus-per-gpu msg-timeout ntasks-per-gpu ntasks-per-tres tasks-per-node thread-spec threads"
_FROM_0 = "core-spec immediate kill-on-bad-exit relative resv-ports verbose"
LOWEST = {
    **{field.option: 1 for field in FIELDS.values() if type(field) is Number and field.option != "nice"},
    **dict.fromkeys(_FROM_1.split(), 1),
    **dict.fromkeys(_FROM_0.split(), 0),
}
"""The lowest values of numbers that parse_int() reads, which ends the command if it cannot."""
FILES = frozenset({"error", "input", "output"})
MODELLED = frozenset(
    {*FLAGS, *ENDING, *LOWEST, *FILES, *BY_OPTION, "gres", "no-kill", "priority", "requeue", "segment", "send-libs"}
) - {"chdir"}
"""Options whose values the stand-in reads as Slurm does."""


class EndedError(ValueError):
    """Slurm's parser ends the command."""


def printed(name: str, text: str) -> str:
    """Return how Slurm prints the value of an option.

    Raises:
        EndedError: the command would end.
        ValueError: Slurm refuses the value.
    """
    field = BY_OPTION.get(name)
    if name in ENDING:
        raise EndedError(text)
    if name in FLAGS:
        return FLAGS[name]
    if name in LOWEST:
        return _parsed_int(text, LOWEST[name])
    if name in FILES:
        return "/dev/null" if text.lower() == "none" else text
    if isinstance(field, Minutes):
        return strings.mins_to_time_str(strings.time_str2mins(text) or UNLIMITED)
    if isinstance(field, Memory):
        return _mbytes(strings.mem_str_to_mib(text.lstrip()))
    if isinstance(field, NodeCount):
        return _nodes(text)
    return {"gres": _gres, "nice": _nice, "no-kill": _no_kill, "priority": _priority, "requeue": _requeue,
            "segment": _segment, "send-libs": _send_libs}.get(name, str)(text)  # fmt: skip


def _parsed_int(text: str, lowest: int) -> str:
    """Return what parse_int() makes of a text."""
    match = re.fullmatch(r"\s*\+?(\d*)", text, re.ASCII)
    if match is None or not lowest <= int(match[1] or 0) < 1 << 31:
        raise EndedError(text)
    return str(int(match[1] or 0))


def _leading_int(text: str) -> int:
    """Return what strtol() makes of a text."""
    match = re.match(r"\s*[+-]?\d+", text, re.ASCII)
    return int(match[0]) if match else 0


def _mbytes(mib: int) -> str:
    """Return what mbytes_to_str() prints: 0 has no unit that it knows."""
    for unit in ("", "G", "T", "P"):
        if mib % 1024:
            return f"{mib}{unit and unit[0]}"
        mib //= 1024
    return f"{mib}?"


def _nodes(text: str) -> str:
    """Return the lowest and the highest number of ``--nodes``."""
    ends = [int(end) for end in re.split("[-,]", text)]
    if ends[-1] >= 1 << 31 or ends != sorted(ends) or (len(ends) > 2 and "-" in text):
        raise ValueError(text)
    return str(ends[0]) if ends[0] == ends[-1] else f"{ends[0]}-{ends[-1]}"


def _gres(text: str) -> str:
    if text.lower() in ("help", "list"):
        raise EndedError(text)
    if text.lower() == "none":
        return text
    return ",".join(f"gres/{item.removeprefix('gres/').removeprefix('gres:')}" for item in text.split(","))


def _nice(text: str) -> str:
    number = _leading_int(text)
    if abs(number) > (1 << 31) - 3:
        raise ValueError(text)
    return str(number)


def _no_kill(text: str) -> str:
    if text not in ("set", "no", "off"):
        raise ValueError(text)
    return "set" if text == "set" else "unset"


def _priority(text: str) -> str:
    number = (1 << 32) - 3 if text.upper() == "TOP" else _leading_int(text)
    if not 0 <= number < 1 << 32:
        raise ValueError(text)
    return str(number - (1 << 32) if number >= 1 << 31 else number)


def _requeue(text: str) -> str:
    """Return the text as 26.05 does; earlier releases accept any value."""
    if text.lower() not in ("", "requeue", "expedite"):
        raise ValueError(text)
    return text.lower() or "requeue"


def _segment(text: str) -> str:
    number = int(_parsed_int(text, 0))
    if number >= 1 << 16:
        raise EndedError(text)
    return str(number or "unset")


def _send_libs(text: str) -> str:
    if text.lower() not in ("yes", "no"):
        raise EndedError(text)
    return "set" if text.lower() == "yes" else ""
