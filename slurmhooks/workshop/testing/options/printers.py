# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read the values of single options, and print them again.

Source: slurm_opt.c, proc_args.c and parse_time.c. A function raises ValueError for a text that the command refuses, and
:class:`EndedError` for one with which it ends.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from slurmhooks.fields.number_rows import CORE_SPEC_THREAD
from slurmhooks.job_submit import strings
from slurmhooks.values import NO_VAL, UNLIMITED
from slurmhooks.workshop.testing.options import numbers
from slurmhooks.workshop.testing.options.numbers import int32, strtol
from slurmhooks.workshop.testing.options.values import moment, nodes
from slurmhooks.workshop.testing.options.words import mail_types, profiles, warning

if TYPE_CHECKING:
    from collections.abc import Callable


class EndedError(ValueError):
    """Slurm's parser ends the command."""


def parsed_int(text: str, lowest: int) -> int:
    """Return what parse_int() makes of a text."""
    value, rest = strtol(text)
    if rest or not lowest <= value < numbers.INT_MAX:
        raise EndedError(text)
    return value


def mbytes(mib: int) -> str:
    """Return what mbytes_to_str() prints: 0 has no unit that it knows."""
    for unit in ("", "G", "T", "P"):
        if mib % 1024:
            return f"{mib}{unit and unit[0]}"
        mib //= 1024
    return f"{mib}?"


def period(seconds: int) -> str:
    """Return what secs2time_str() prints."""
    if seconds % (1 << 32) == numbers.NEVER:
        return "UNLIMITED"
    minutes, left = divmod(seconds, 60)
    return f"{strings.mins_to_time_str(minutes)[:-2]}{left:02d}"


def _nodes(text: str) -> str:
    """Return the lowest and the highest number of ``--nodes``."""
    fields: dict[str, int] = {}
    nodes(fields, text)
    least, most = fields["min_nodes"], fields["max_nodes"]
    return str(least) if least == most else f"{least}-{most}"


def _gres(text: str) -> str:
    if text.lower() in ("help", "list"):
        raise EndedError(text)
    if text.lower() == "none":
        return text
    return ",".join(f"gres/{item}" for item in text.split(",")).replace("gres/gres/", "gres/")


def _moment(text: str) -> str:
    """Return a point in time as slurm_make_time_str() does."""
    seconds = moment(text)
    if not seconds:
        raise ValueError(text)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))


def _nice(text: str) -> str:
    number = strtol(text)[0]
    if abs(number) > (1 << 31) - 3:
        raise ValueError(text)
    return str(number)


def _no_kill(text: str) -> str:
    if text.lower() not in ("set", "no", "off"):
        raise ValueError(text)
    return "set" if text.lower() == "set" else "unset"


def _priority(text: str) -> str:
    number = NO_VAL[32] - 1 if text.upper() == "TOP" else strtol(text)[0]
    if not 0 <= number < NO_VAL[32]:
        raise ValueError(text)
    return str(int32(number))


def _requeue(text: str) -> str:
    if text.lower() not in ("", "expedite"):
        raise ValueError(text)
    return "expedite" if text else "requeue"


def _delay_boot(text: str) -> str:
    seconds = numbers.seconds(text)
    return period(seconds % (1 << 32))


def _switches(text: str) -> str:
    count, at, wait = text.partition("@")
    number = parsed_int(count, 1)
    try:
        seconds = numbers.seconds(wait) if at else numbers.NEVER
    except ValueError:
        seconds = -2
    if int32(seconds) == -1:
        return "unset" if number == -1 else str(number)
    return f"{number}@{'INVALID' if seconds < 0 else period(seconds)}"


def _open_mode(text: str) -> str:
    if text[:1].lower() not in ("a", "t"):
        raise ValueError(text)
    return text[0].lower()


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return read


def _of_root(text: str) -> str:
    """Refuse ``--uid`` and ``--gid`` of ordinary users."""
    if os.getuid():
        raise ValueError(text)
    return text


def _time(text: str) -> str:
    """Return a time limit; 0 is none."""
    minutes = numbers.minutes(text) % (1 << 32)
    return strings.mins_to_time_str(UNLIMITED if minutes in (0, numbers.NEVER) else minutes)


def _cores(text: str) -> str:
    number = parsed_int(text, 0)
    return "unset" if number == NO_VAL[16] or number & CORE_SPEC_THREAD else str(number)


def _threads(text: str) -> str:
    number = parsed_int(text, 1) | CORE_SPEC_THREAD
    return "unset" if number == NO_VAL[16] else str(number & ~CORE_SPEC_THREAD)


PRINTERS: dict[str, Callable[[str], str]] = {
    "begin": _moment,
    "chdir": lambda text: os.path.join(os.getcwd(), text),
    "core-spec": _cores,
    "deadline": _moment,
    "delay-boot": _delay_boot,
    "exclusive": _one_of("exclusive", "oversubscribe", "user", "mcs", "topo"),
    "get-user-env": lambda text: "set",
    "gid": _of_root,
    "gres": _gres,
    "kill-on-invalid-dep": _one_of("yes", "no"),
    "mail-type": mail_types,
    "nice": _nice,
    "no-kill": _no_kill,
    "nodes": _nodes,
    "open-mode": _open_mode,
    "priority": _priority,
    "profile": profiles,
    "requeue": _requeue,
    "signal": warning,
    "switch-wait": lambda text: period(numbers.seconds(text)),
    "switches": _switches,
    "thread-spec": _threads,
    "time": _time,
    "time-min": _time,
    "uid": _of_root,
    "wait": lambda text: str(parsed_int(text, 0)),
}
"""What prints the text of an option, by its long name."""
