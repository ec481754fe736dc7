# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read the values of options, and print them again; test_cli_filter_writes.py compares them.

Of options that are not in :data:`MODELLED`, any value is accepted, and printed as it is.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from slurmhooks.cli_filter.fields import FIELDS, Memory, Minutes, Number
from slurmhooks.job_submit import strings
from slurmhooks.job_submit.strings import times
from slurmhooks.testing.option_values import moment, nodes
from slurmhooks.values import UNLIMITED, Unlimited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NEWEST = (26, 5)
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
GRES_FLAGS = frozenset(
    {"allow-task-sharing", "disable-binding", "enforce-binding", "multiple-tasks-per-sharing", "one-task-per-sharing"}
)


class EndedError(ValueError):
    """Slurm's parser ends the command."""


def printed(name: str, text: str, release: tuple[int, ...] = NEWEST) -> str:
    """Return how Slurm prints the value of an option.

    Args:
        name: of the option.
        text: its argument.
        release: of Slurm.

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
    if name == "gres" and release < (23, 11):
        return _gres(text).replace("gres/", "gres:")
    if name == "get-user-env" and release >= NEWEST:
        return "set"
    if name == "nodes" and release < (23, 11) and {*",:"} & {*text}:
        raise ValueError(text)
    if name == "gres-flags" and release < (23, 11) and text.lower() not in ("disable-binding", "enforce-binding"):
        raise ValueError(text)
    return PRINTERS[name](text) if name in PRINTERS else text


def _parsed_int(text: str, lowest: int) -> str:
    """Return what parse_int() makes of a text."""
    match = re.fullmatch(r"\s*\+?0*(\d{0,10})", text, re.ASCII)
    if match is None or not lowest <= int(match[1] or 0) < 1 << 31:
        raise EndedError(text)
    return str(int(match[1] or 0))


def leading_int(text: str) -> int:
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
    if not {*",:kKmM"} & {*text}:
        ends = [int(end) for end in text.split("-")]
        if ends[-1] >= 1 << 31 or ends != sorted(ends) or len(ends) > 2:
            raise ValueError(text)
        return str(ends[0]) if ends[0] == ends[-1] else f"{ends[0]}-{ends[-1]}"
    fields: dict[str, int] = {}
    nodes(fields, text)
    least, most = fields["min_nodes"], fields["max_nodes"]
    if not 0 <= least <= most < 1 << 31:
        raise ValueError(text)
    return str(least) if least == most else f"{least}-{most}"


def _gres(text: str) -> str:
    if text.lower() in ("help", "list"):
        raise EndedError(text)
    if text.lower() == "none":
        return text
    return ",".join(f"gres/{item.removeprefix('gres/').removeprefix('gres:')}" for item in text.split(","))


def _moment(text: str) -> str:
    """Return a point in time as slurm_make_time_str() does; the empty text for now."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(moment(text)))


def _nice(text: str) -> str:
    number = leading_int(text)
    if abs(number) > (1 << 31) - 3:
        raise ValueError(text)
    return str(number)


def _gres_flags(text: str) -> str:
    words = [word for word in text.lower().split(",") if word]
    if not GRES_FLAGS.issuperset(words):
        raise ValueError(text)
    return ",".join(words) or "unset"


def _no_kill(text: str) -> str:
    if text.lower() not in ("set", "no", "off"):
        raise ValueError(text)
    return "set" if text.lower() == "set" else "unset"


def _priority(text: str) -> str:
    number = (1 << 32) - 3 if text.upper() == "TOP" else leading_int(text)
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


def _cpu_freq(text: str) -> str:
    return re.sub("[A-Za-z]+", lambda match: match[0].capitalize(), text)


def _delay_boot(text: str) -> str:
    seconds = times.read_seconds(text)
    if isinstance(seconds, Unlimited):
        return "UNLIMITED"
    return f"{strings.mins_to_time_str(seconds // 60)[:-2]}{seconds % 60:02d}"


def _distribution(text: str) -> str:
    kind, *flags = text.lower().split(",")
    defaults = ("block", "cyclic", "cyclic")
    parts = [default if part == "*" else part for part, default in zip(kind.split(":"), defaults, strict=False)]
    return ",".join([":".join(parts), *flags])


def _get_user_env(text: str) -> str:
    return text.upper() if text[-1:].isalpha() and text != "set" else "0" if text == "set" else text


def _layout(text: str) -> str:
    return ":".join("" if part == "*" and place == 0 else part for place, part in enumerate(text.split(":")))


def _mail_type(text: str) -> str:
    given = {word.strip().upper() for word in text.split(",")}
    if given - {*MAIL, "ALL", "NONE"}:
        raise ValueError(text)
    given |= {*MAIL_ALL} if "ALL" in given else set()
    return ",".join(name for name in MAIL if name in given) or "NONE"


def _open_mode(text: str) -> str:
    if text[:1].lower() not in ("a", "t"):
        raise ValueError(text)
    return text[0].lower()


def _profile(text: str) -> str:
    given = {word.strip().capitalize() for word in text.split(",")}
    if given - {*PROFILES, "All", "None"}:
        raise ValueError(text)
    return ",".join(name for name in PROFILES if name in given or "All" in given) or "None"


def _signal(text: str) -> str:
    """Return the signal by its name; 60 seconds are the default."""
    import signal

    match = re.fullmatch(r"(?:([RB]+):)?(?:SIG)?(\w+)(?:@(\d+))?", text, re.ASCII | re.IGNORECASE)
    if match is None:
        raise ValueError(text)
    flags, name, seconds = (match[1] or "").upper(), match[2].upper(), match[3]
    name = signal.Signals(int(name)).name.removeprefix("SIG") if name.isdecimal() else name
    flags = "".join(flag for flag in "RB" if flag in flags)
    return f"{flags}{':' * bool(flags)}{name}" + (f"@{int(seconds)}" if seconds not in (None, "60") else "")


MAIL = (
    *("ARRAY_TASKS", "INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT"),
    *("TIME_LIMIT_50", "TIME_LIMIT_80", "TIME_LIMIT_90", "TIME_LIMIT"),
)
"""Types of mail, in the order in which Slurm prints them."""
MAIL_ALL = MAIL[1:7]
"""The types that ALL stands for."""
PROFILES = ("Energy", "Lustre", "Network", "Task")
PRINTERS: dict[str, Callable[[str], str]] = {
    "begin": _moment,
    "chdir": lambda text: os.path.join(os.getcwd(), text),
    "cpu-freq": _cpu_freq,
    "deadline": _moment,
    "delay-boot": _delay_boot,
    "distribution": _distribution,
    "extra-node-info": _layout,
    "get-user-env": _get_user_env,
    "gres": _gres,
    "gres-flags": _gres_flags,
    "mail-type": _mail_type,
    "nice": _nice,
    "nodes": _nodes,
    "no-kill": _no_kill,
    "open-mode": _open_mode,
    "priority": _priority,
    "profile": _profile,
    "requeue": _requeue,
    "segment": _segment,
    "send-libs": _send_libs,
    "signal": _signal,
}
_ROUGHLY = """
    begin chdir cpu-freq deadline delay-boot distribution extra-node-info get-user-env mail-type open-mode profile
    signal
"""
MODELLED = frozenset({*FLAGS, *ENDING, *LOWEST, *FILES, *BY_OPTION, *PRINTERS}) - {*_ROUGHLY.split()}
"""Options whose values, even invalid ones, the stand-in reads as Slurm does; of some others only the valid ones."""


def joint(given: Iterable[tuple[str, str]], release: tuple[int, ...] = NEWEST) -> dict[str, str]:
    """Return the texts of options, of which some share a value: each shows what the last of them has set.

    Args:
        given: names and arguments, in the order of their setting.
        release: of Slurm.
    """
    result: dict[str, str] = {}
    for name, text in given:
        new = printed(name, text, release)
        if name == "mail-type" and name in result and release < NEWEST:
            new = _mail_type(f"{result[name]},{new}")
        result[name] = new
        for group in SHARED:
            if name in group:
                result.update((other, new) for other in group if other in result)
        if name == "extra-node-info":
            result.update((other, part) for other, part in zip(LAYOUT, new.split(":"), strict=False) if other in result)
    return result


SHARED = (("requeue", "no-requeue"), ("exclusive", "oversubscribe"))
LAYOUT = ("sockets-per-node", "cores-per-socket", "threads-per-core")
"""The parts of --extra-node-info."""
