# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read the values of options, and print them again; test_option_values.py compares them.

Of options without a reader, any value is accepted, and printed as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.cli_filter.fields import FIELDS, Memory, Number
from slurmhooks.fields.rows import NEWEST
from slurmhooks.testing import option_bindings
from slurmhooks.testing.option_numbers import megabytes
from slurmhooks.testing.option_printers import PRINTERS, VARYING, EndedError, layout_text, mbytes, parsed_int
from slurmhooks.testing.option_words import SINCE_26_05, mail_types

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_FROM_1 = "cpus-per-gpu msg-timeout ntasks-per-gpu ntasks-per-tres tasks-per-node threads"
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
    return ALONE.get(name, "set")


def joint(
    given: Iterable[tuple[str, str | None]], release: tuple[int, ...] = NEWEST, command: str = "sbatch"
) -> dict[str, str]:
    """Return the texts of options, of which some share a value: each shows what the last of them has set.

    Args:
        given: names and arguments, in the order of their setting; None: without one.
        release: of Slurm.
        command: whose options they are.
    """
    result: dict[str, str] = {}
    layout: dict[str, int | None] = dict.fromkeys(LAYOUT)
    for name, text in given:
        if name in ENDING:
            raise EndedError(text)
        new = alone(name, release) if text is None else printed(name, text, release, command)
        if name == "mail-type" and name in result and release < SINCE_26_05:
            new = mail_types(f"{result[name]},{new}")
        result[name] = new
        for group in SHARED:
            if name in group:
                result.update((other, new) for other in group if other in result)
        if name == "extra-node-info" and text is not None:
            layout = dict(zip(LAYOUT, option_bindings.layout(text), strict=True))
        elif name in LAYOUT:
            layout[name] = int(new)
    for name in LAYOUT:
        if name in result and name in layout:
            result[name] = str(NOT_GIVEN if layout[name] is None else layout[name])
    if "extra-node-info" in result:
        result["extra-node-info"] = layout_text(list(layout.values()))
    return result


SHARED = (("requeue", "no-requeue"), ("exclusive", "oversubscribe"))
LAYOUT = ("sockets-per-node", "cores-per-socket", "threads-per-core")
"""The parts of --extra-node-info."""
NOT_GIVEN = -2
"""What Slurm prints for one of these options that a later --extra-node-info has unset."""
