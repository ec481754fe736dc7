# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read the values of single options, and print them again.

Source: slurm_opt.c, proc_args.c and parse_time.c. A function raises ValueError for a text that the command refuses, and
:class:`EndedError` for one with which it ends.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from slurmhooks.fields.number_rows import CORE_SPEC_THREAD
from slurmhooks.job_submit import strings
from slurmhooks.testing.options import bindings, numbers
from slurmhooks.testing.options.numbers import int32, strtol
from slurmhooks.testing.options.values import moment, nodes
from slurmhooks.testing.options.words import (
    SINCE_26_05,
    Release,
    ignored_signals,
    kill_command,
    mail_types,
    profiles,
    warning,
)
from slurmhooks.values import NO_VAL, UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable

LISTS_SINCE = (23, 11)
"""Since then commands read numbers strictly, lists of numbers of nodes, and more words of some options."""


class EndedError(ValueError):
    """Slurm's parser ends the command."""


def parsed_int(text: str, lowest: int, release: Release) -> int:
    """Return what parse_int() makes of a text."""
    value, rest = strtol(text)
    most = numbers.INT_MAX if release >= LISTS_SINCE else numbers.LONG_MAX
    if rest or not lowest <= value < most:
        raise EndedError(text)
    return int32(value)


def _uint16(text: str) -> int:
    """Return what parse_uint16() makes of a text."""
    value, rest = strtol(text)
    if rest or not 0 <= value < NO_VAL[16]:
        raise ValueError(text)
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


def _nodes(text: str, release: Release, command: str) -> str:
    """Return the lowest and the highest number of ``--nodes``."""
    if release < LISTS_SINCE and {*",:"} & {*text}:
        raise ValueError(text)
    fields: dict[str, int] = {}
    nodes(fields, text)
    least, most = fields["min_nodes"], fields["max_nodes"]
    return str(least) if least == most else f"{least}-{most}"


def _gres(text: str, release: Release, command: str) -> str:
    if text.lower() in ("help", "list"):
        raise EndedError(text)
    if text.lower() == "none":
        return text
    kind = "gres/" if release >= LISTS_SINCE else "gres:"
    return ",".join(f"{kind}{item}" for item in text.split(",")).replace(kind + kind, kind)


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


def _gres_flags(text: str, release: Release, command: str) -> str:
    words = {word for word in text.lower().split(",") if word}
    if release < LISTS_SINCE and text.lower() not in ("disable-binding", "enforce-binding"):
        raise ValueError(text)
    if not words <= GRES_FLAGS or ("allow-task-sharing" in words and command != "srun"):
        raise ValueError(text)
    if any(words.issuperset(pair) for pair in EXCLUDING_FLAGS):
        raise ValueError(text)
    return ",".join(sorted(words)) or "unset"


def _no_kill(text: str) -> str:
    if text.lower() not in ("set", "no", "off"):
        raise ValueError(text)
    return "set" if text.lower() == "set" else "unset"


def _priority(text: str) -> str:
    number = NO_VAL[32] - 1 if text.upper() == "TOP" else strtol(text)[0]
    if not 0 <= number < NO_VAL[32]:
        raise ValueError(text)
    return str(int32(number))


def _requeue(text: str, release: Release, command: str) -> str:
    """Return the text as 26.05 does; earlier releases accept any value."""
    if release >= SINCE_26_05 and text.lower() not in ("", "expedite"):
        raise ValueError(text)
    return "expedite" if release >= SINCE_26_05 and text else "requeue"


def _segment(text: str, release: Release, command: str) -> str:
    number = parsed_int(text, 0, release)
    if number >= NO_VAL[16]:
        raise EndedError(text)
    return str(number or "unset")


def _send_libs(text: str) -> str:
    if text.lower() not in ("yes", "y", "no", "n"):
        raise EndedError(text)
    return "set" if text.lower().startswith("y") else ""


def _delay_boot(text: str) -> str:
    seconds = numbers.seconds(text)
    return period(seconds % (1 << 32))


def _switches(text: str, release: Release, command: str) -> str:
    count, at, wait = text.partition("@")
    number = parsed_int(count, 1, release)
    try:
        seconds = numbers.seconds(wait) if at else numbers.NEVER
    except ValueError:
        seconds = -2
    if int32(seconds) == -1:
        return "unset" if number == -1 else str(number)
    return f"{number}@{'INVALID' if seconds < 0 else period(seconds)}"


def _distribution(text: str) -> str:
    return bindings.distribution(text, os.environ)


def _user_env(text: str, release: Release, command: str) -> str:
    if release >= SINCE_26_05:
        return "set"
    value, rest = strtol(text)
    seconds, mode = int32(value), rest[:1].upper()
    if mode not in ("", "S", "L"):
        raise ValueError(text)
    return "" if seconds == -1 and not mode else f"{seconds}{mode}"


def _layout(text: str) -> str:
    try:
        return layout_text(bindings.layout(text))
    except ValueError as error:
        raise EndedError(text) from error


def layout_text(counts: list[int | None]) -> str:
    """Return what ``--extra-node-info`` prints: the numbers of sockets, cores and threads that are set."""
    sockets, *others = counts
    shown = "".join(f":{number}" for number in others if number is not None)
    return f"{'' if sockets is None else sockets}{shown}" or "unset"


def _open_mode(text: str) -> str:
    if text[:1].lower() not in ("a", "t"):
        raise ValueError(text)
    return text[0].lower()


def _exclusive(text: str, release: Release, command: str) -> str:
    words = ("exclusive", "oversubscribe", "user", "mcs", *(("topo",) if release >= LISTS_SINCE else ()))
    return _one_of(*words)(text)


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return read


def _oom_kill_step(text: str) -> str:
    if _uint16(text) > 1:
        raise ValueError(text)
    return str(_uint16(text))


def _wait_all_nodes(text: str, release: Release, command: str) -> str:
    number = parsed_int(text, 0, release) % (1 << 16)
    if number > 1:
        raise ValueError(text)
    return str(number)


def _cpu_frequency(text: str, release: Release, command: str) -> str:
    return bindings.cpu_frequency(text, strict=release >= LISTS_SINCE)


def _gpu_binding(text: str, release: Release, command: str) -> str:
    return bindings.gpus(text, release)


def _job_id(text: str, release: Release, command: str) -> str:
    if release < LISTS_SINCE:
        return str(parsed_int(text, 1, release))
    if release >= SINCE_26_05 and not re.fullmatch(r"\s*\+?[0-9]*[1-9][0-9]*([_+][0-9]+)?(\.[0-9]+)?", text, re.ASCII):
        raise EndedError(text)
    if release >= SINCE_26_05:
        text = text.lstrip().removeprefix("+")
    job, dot, step = text.partition(".")
    number, sign, part = job.partition("_" if "_" in job or "+" in step else "+")
    if (dot and not re.match("[0-9]|(batch|extern|interactive|TBD)$", step)) or (sign and not re.match("[0-9]", part)):
        raise EndedError(text)
    return str(int32(strtol(number)[0]))


def _memory_binding(text: str, release: Release, command: str) -> str:
    if release >= SINCE_26_05 and {"sort", "nosort"}.intersection(text.lower().split(",")):
        raise ValueError(text)
    return bindings.memory(text)


def _memory_update(text: str) -> str:
    margin, delay = bindings.memory_update(text)
    return f"{margin}@{delay}"


def _log_level(text: str, release: Release, command: str) -> str:
    level = LEVELS.get(text.lower(), "unknown")
    if text[:1].isdigit():
        level = dict(enumerate(dict.fromkeys(LEVELS.values()))).get(strtol(text)[0] % (1 << 16), "unknown")
    if release >= LISTS_SINCE and level != "error" and os.getuid():
        raise ValueError(text)
    return level


def _of_root(text: str) -> str:
    """Refuse ``--uid`` and ``--gid`` of ordinary users."""
    if os.getuid():
        raise ValueError(text)
    return text


def _time(text: str) -> str:
    """Return a time limit; 0 is none."""
    minutes = numbers.minutes(text) % (1 << 32)
    return strings.mins_to_time_str(UNLIMITED if minutes in (0, numbers.NEVER) else minutes)


def _begin(text: str, release: Release, command: str) -> str:
    if release < LISTS_SINCE and "elevenses" in text.lower():
        raise ValueError(text)
    return _moment(text)


def _cores(text: str, release: Release, command: str) -> str:
    number = parsed_int(text, 0, release)
    return "unset" if number == NO_VAL[16] or number & CORE_SPEC_THREAD else str(number)


def _threads(text: str, release: Release, command: str) -> str:
    number = parsed_int(text, 1, release) | CORE_SPEC_THREAD
    return "unset" if number == NO_VAL[16] else str(number & ~CORE_SPEC_THREAD)


EXCLUDING_FLAGS = (
    ("disable-binding", "enforce-binding"),
    ("multiple-tasks-per-sharing", "one-task-per-sharing"),
)
GRES_FLAGS = frozenset(
    {"allow-task-sharing", "disable-binding", "enforce-binding", "multiple-tasks-per-sharing", "one-task-per-sharing"}
)
GRES_FLAGS_KEPT = frozenset({"allow-task-sharing", "multiple-tasks-per-sharing"})
"""The words of --gres-flags that a later option does not clear."""
LEVELS = {
    **{name: name for name in ("quiet", "fatal", "error", "info", "verbose", "debug")},
    **{f"debug{number}": f"debug{number}" for number in range(2, 6)},
}
"""The levels of Slurm's log, by name, in the order of their numbers."""
PRINTERS: dict[str, Callable[[str], str]] = {
    "accel-bind": bindings.accelerators,
    "acctg-freq": bindings.account_frequency,
    "chdir": lambda text: os.path.join(os.getcwd(), text),
    "compress": lambda text: "lz4" if text.lower() == "lz4" else "none",
    "delay-boot": _delay_boot,
    "distribution": _distribution,
    "extra-node-info": _layout,
    "gid": _of_root,
    "gpu-freq": bindings.gpu_frequency,
    "kill-on-invalid-dep": _one_of("yes", "no"),
    "mail-type": mail_types,
    "mem-update": _memory_update,
    "nice": _nice,
    "no-kill": _no_kill,
    "oom-kill-step": _oom_kill_step,
    "open-mode": _open_mode,
    "power": lambda text: "LEVEL" if "level" in text.lower() else "unset",
    "priority": _priority,
    "profile": profiles,
    "send-libs": _send_libs,
    "switch-wait": lambda text: period(numbers.seconds(text)),
    "time": _time,
    "time-min": _time,
    "treewidth": lambda text: "65533" if text.lower() == "off" else str(_uint16(text)),
    "uid": _of_root,
    "x11": lambda text: text.lower() if text.lower() in ("all", "batch", "first", "last") else "unset",
}
VARYING: dict[str, Callable[[str, Release, str], str]] = {
    "begin": _begin,
    "core-spec": _cores,
    "cpu-freq": _cpu_frequency,
    "deadline": _begin,
    "exclusive": _exclusive,
    "get-user-env": _user_env,
    "gpu-bind": _gpu_binding,
    "gres": _gres,
    "gres-flags": _gres_flags,
    "ignore-signals": ignored_signals,
    "jobid": _job_id,
    "kill-command": kill_command,
    "mem-bind": _memory_binding,
    "nodes": _nodes,
    "pty": lambda text, release, command: text if release >= LISTS_SINCE else "set",
    "requeue": _requeue,
    "segment": _segment,
    "signal": warning,
    "slurmd-debug": _log_level,
    "switches": _switches,
    "thread-spec": _threads,
    "wait": lambda text, release, command: str(parsed_int(text, 0, release)),
    "wait-all-nodes": _wait_all_nodes,
}
"""The same for options that releases or commands read differently."""
