# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read the values of options, and print them again; test_option_values.py compares them.

Of options without a reader, any value is accepted, and printed as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.cli_filter.fields import FIELDS, Memory, Number
from slurmhooks.workshop.testing.options.numbers import megabytes
from slurmhooks.workshop.testing.options.printers import PRINTERS, EndedError, mbytes, parsed_int
from slurmhooks.workshop.testing.options.variables import NAMELESS

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
_FROM_1 = "cpus-per-gpu msg-timeout ntasks-per-gpu ntasks-per-tres switch-req tasks-per-node threads"
_FROM_0 = "immediate kill-on-bad-exit relative resv-ports verbose"
LOWEST = {
    **{field.option: 1 for field in FIELDS.values() if type(field) is Number and field.option not in PRINTERS},
    **dict.fromkeys(_FROM_1.split(), 1),
    **dict.fromkeys(_FROM_0.split(), 0),
}
"""The lowest values of numbers that parse_int() reads, which ends the command if it cannot."""
FILES = frozenset({"error", "input", "output"})
MEMORY = frozenset({"mem-per-gpu", *(field.option for field in FIELDS.values() if isinstance(field, Memory))})


def printed(name: str, text: str, command: str = "sbatch") -> str:
    """Return how Slurm prints the value of an option, by its long name, that was given as a text.

    Raises:
        ValueError: Slurm refuses the text; EndedError: and ends the command.
    """
    if name in ENDING:
        raise EndedError(text)
    if name in FLAGS or (name == "wait" and command == "sbatch"):
        return FLAGS.get(name, "set")
    if name in LOWEST:
        return str(parsed_int(text, LOWEST[name]))
    if name in FILES:
        return "/dev/null" if text.lower() == "none" else text
    if name in MEMORY:
        return mbytes(megabytes(text))
    return PRINTERS[name](text) if name in PRINTERS else text


def joint(given: Iterable[tuple[str, str | None]], command: str = "sbatch") -> dict[str, str | None]:
    """Return the texts of options by name, None without an argument; of several with one name, the last one counts."""
    result: dict[str, str | None] = {}
    for name, text in given:
        if name in ENDING:
            raise EndedError(text)
        shown = ALONE.get(name, "set") if text is None else printed(name, text, command)
        if name not in NAMELESS:
            result[name] = shown
    return result
