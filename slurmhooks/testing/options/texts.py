# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read the values of options, and print them again; test_option_values.py compares them.

Of options without a reader, any value is accepted, and printed as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.cli_filter.fields import FIELDS, Memory, Number
from slurmhooks.fields.rows import NEWEST
from slurmhooks.testing.options import bindings
from slurmhooks.testing.options.numbers import megabytes
from slurmhooks.testing.options.printers import (
    GRES_FLAGS_KEPT,
    LISTS_SINCE,
    PRINTERS,
    VARYING,
    EndedError,
    layout_text,
    mbytes,
    parsed_int,
)
from slurmhooks.testing.options.variables import NAMELESS
from slurmhooks.testing.options.words import SINCE_26_05, mail_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["ALONE", "ENDING", "FLAGS", "LOWEST", "EndedError", "joint", "printed"]

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
_FROM_1 = "cpus-per-gpu msg-timeout ntasks-per-gpu ntasks-per-tres switch-req tasks-per-node threads"
_FROM_0 = "immediate kill-on-bad-exit relative resv-ports verbose"
LOWEST = {
    **{
        field.option: 1 for field in FIELDS.values() if type(field) is Number and field.option not in PRINTERS | VARYING
    },
    **dict.fromkeys(_FROM_1.split(), 1),
    **dict.fromkeys(_FROM_0.split(), 0),
}
"""The lowest values of numbers that parse_int() reads, which ends the command if it cannot."""
FILES = frozenset({"error", "input", "output"})
MEMORY = frozenset({"mem-per-gpu", *(field.option for field in FIELDS.values() if isinstance(field, Memory))})


def printed(name: str, text: str, release: tuple[int, ...] = NEWEST, command: str = "sbatch") -> str:
    """Return how Slurm prints the value of an option.

    Args:
        name: of the option.
        text: its argument.
        release: of Slurm.
        command: whose option it is.

    Raises:
        EndedError: the command would end.
        ValueError: Slurm refuses the value.
    """
    if name in ENDING:
        raise EndedError(text)
    if name in FLAGS or (name == "wait" and command == "sbatch"):
        return FLAGS.get(name, "set")
    if name in LOWEST:
        return str(parsed_int(text, LOWEST[name], release))
    if name in FILES:
        return "/dev/null" if text.lower() == "none" else text
    if name in MEMORY:
        return mbytes(megabytes(text))
    if name in VARYING:
        return VARYING[name](text, release, command)
    return PRINTERS[name](text) if name in PRINTERS else text


def alone(name: str, release: tuple[int, ...]) -> str:
    """Return how Slurm prints an option that is given without a value."""
    if name == "get-user-env" and release < SINCE_26_05:
        return "0"
    if name == "pty" and release < LISTS_SINCE:
        return "set"
    return ALONE.get(name, "set")


def joint(
    given: Iterable[tuple[str, str | None]], release: tuple[int, ...] = NEWEST, command: str = "sbatch"
) -> dict[str, str | None]:
    """Return the texts of options, of which some share a value: each shows what the last of them has set.

    Args:
        given: names and arguments, in the order of their setting; None: without one.
        release: of Slurm.
        command: whose options they are.

    Returns:
        the texts by name; None if another option has taken the value back.
    """
    result: dict[str, str | None] = {}
    layout: dict[str, int | None] = dict.fromkeys(LAYOUT)
    counts = dict.fromkeys(COUNTED, 0)
    wait: str | None = None
    for name, text in given:
        if name in ENDING:
            raise EndedError(text)
        new = alone(name, release) if text is None else printed(name, text, release, command)
        if name in KEEPING and name in result:
            new = KEEPING[name](result[name] or "", new, release)
        if name == "mem-bind" and text is not None:
            new = bindings.memory(text, result.get(name) or "unset")
        if name in NAMELESS:
            wait = new if name == "switch-wait" else wait
            continue
        if name == "switches" and wait is not None:
            new = _switches(f"@{wait}", new, release)
        if name in COUNTED and text is None:
            counts[name] += 1
        if name in LAYOUT:
            layout[name] = int(new)
        elif name == "extra-node-info" and text is not None:
            layout = dict(zip(LAYOUT, bindings.layout(text), strict=True))
        result[name] = new
        result.update((other, what) for other, what in _others(name, new, command) if other in result)
    result.update((name, str(count)) for name, count in counts.items() if count)
    for name in LAYOUT:
        if name in result:
            result[name] = str(NOT_GIVEN if layout[name] is None else layout[name])
    if "extra-node-info" in result:
        result["extra-node-info"] = layout_text(list(layout.values()))
    return result


def _mail_types(before: str, text: str, release: tuple[int, ...]) -> str:
    if release >= SINCE_26_05 or before == "NONE":
        return text
    return before if text == "NONE" else mail_types(f"{before},{text}")


def _signal(before: str, text: str, release: tuple[int, ...]) -> str:
    flags = {flag for each in (before, text) if ":" in each for flag in each.partition(":")[0]}
    return "".join(flag for flag in "RB" if flag in flags) + ":" * bool(flags) + text.rpartition(":")[2]


def _switches(before: str, text: str, release: tuple[int, ...]) -> str:
    return text if "@" in text else text + before[before.find("@") :] if "@" in before else text


def _gres_flags(before: str, text: str, release: tuple[int, ...]) -> str:
    return ",".join(sorted({*text.split(","), *GRES_FLAGS_KEPT.intersection(before.split(","))} - {"unset"})) or "unset"


KEEPING: dict[str, Callable[[str, str, tuple[int, ...]], str]] = {
    "gres-flags": _gres_flags,
    "kill-on-invalid-dep": lambda before, text, release: "yes" if "yes" in (before, text) else text,
    "mail-type": _mail_types,
    "signal": _signal,
    "switches": _switches,
}
"""Options that keep a part of an earlier one: functions of the text of that, that of the new one, and the release."""


def _others(name: str, text: str, command: str) -> Iterator[tuple[str, str | None]]:
    """Yield the texts that other options have after an option has been set."""
    for group in SHARED:
        if name in group:
            yield from ((other, text) for other in group)
    if name in TAKING_BACK:
        yield TAKING_BACK[name]
    if name == "gpu-bind":
        yield "tres-bind", f"gres/gpu:{text}"
    if command == "srun" and name == "mem":
        yield "mem-per-cpu", None
    if command == "srun" and (name, text) == ("exclusive", "exclusive"):
        yield "overlap", "unset"


SHARED = (("requeue", "no-requeue"), ("exclusive", "oversubscribe"), ("bell", "no-bell"))
TAKING_BACK: dict[str, tuple[str, str | None]] = {
    "core-spec": ("thread-spec", "unset"),
    "thread-spec": ("core-spec", "unset"),
    "nodefile": ("nodelist", None),
    "nodelist": ("nodefile", None),
}
"""Options that take back the value of another one, and what that one shows then."""
COUNTED = ("quiet", "verbose")
"""Options without an argument that show how often they are given."""
LAYOUT = ("sockets-per-node", "cores-per-socket", "threads-per-core")
"""The parts of --extra-node-info."""
NOT_GIVEN = -2
"""What Slurm prints for one of these options that a later --extra-node-info has unset."""
