# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries a cli_filter.lua with commands, on the stand-in for their options (slurmhooks.workshop.testing.cli_filter)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.errors import Reject
from slurmhooks.fields.rows import release_of
from slurmhooks.lua import cli_filter
from slurmhooks.values import NO_VAL
from slurmhooks.workshop.adopt.answers import Answer
from slurmhooks.workshop.adopt.under_slurmhooks import guard
from slurmhooks.workshop.testing.cli_filter import FakeOptions
from slurmhooks.workshop.testing.log_capture import CapturedLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.fields.rows import Release

COMMANDS = ("sbatch", "srun", "salloc")
TEXTS: dict[str, tuple[str, ...]] = {
    "time": ("10", "1-00:00:00", "UNLIMITED"),
    "time-min": ("5",),
    "partition": ("debug", "long", "debug,long"),
    "account": ("physics", "Physics"),
    "qos": ("normal", "long"),
    "nodes": ("1", "2-4"),
    "ntasks": ("1", "64"),
    "ntasks-per-node": ("4",),
    "cpus-per-task": ("1", "8"),
    "mem": ("1G", "64G"),
    "mem-per-cpu": ("2G",),
    "gres": ("gpu:1", "gpu:tesla:2"),
    "gpus": ("1", "tesla:2"),
    "constraint": ("intel", "intel&ib"),
    "array": ("1-10%2",),
    "licenses": ("matlab:1",),
    "reservation": ("maint",),
    "exclusive": ("exclusive",),
    "wrap": ("hostname",),
}
"""Texts for options that have a form; all others get ``x``."""
SEED = 21


@dataclass(frozen=True)
class Command:
    """A command of a user.

    Attributes:
        label: what is special in it, for people.
        command: sbatch, srun or salloc.
        options: that the user gives, by long name.
        argv: the words after the options.
        release: of Slurm.
    """

    label: str
    command: str
    options: dict[str, str] = field(default_factory=dict)
    argv: list[str] = field(default_factory=lambda: ["run.sh", "a b"])
    release: str = "24.11"
    hook: str = "cli_filter"
    unknown: frozenset[str] = frozenset()


def generated(used: set[str], constants: list[Any], release: str, count: int) -> list[Command]:
    """Return commands for a script."""
    calls = [Command(f"{command}, nothing given", command, release=release) for command in COMMANDS]
    values = {name: list(_values(name, constants)) for name in sorted(used)}
    for name, texts in values.items():
        for text in texts:
            calls += [_command(command, {name: text}, release) for command in COMMANDS if _takes(command, name, text)]
    chance = random.Random(SEED)
    names = [name for name in values if any(name in NAMES[command] for command in COMMANDS)]
    for _ in range(count * 2):
        if len(calls) >= count or not names:
            break
        command = chance.choice(COMMANDS)
        given = {name: chance.choice(values[name]) for name in chance.sample(names, min(len(names), 4))}
        calls.append(
            _command(command, {key: text for key, text in given.items() if _takes(command, key, text)}, release)
        )
    return calls[:count]


def _values(name: str, constants: list[Any]) -> Iterator[str]:
    yield from TEXTS.get(name, ("x",))
    for constant in constants:
        if isinstance(constant, str) and 0 < len(constant) < 40 and constant.isprintable():
            yield constant
        elif isinstance(constant, float) and 0 <= constant < 30_000:
            yield from (str(int(constant) + more) for more in (-1, 0, 1) if constant + more >= 0)


def _takes(command: str, name: str, text: str) -> bool:
    """Tell whether a user can give an option; a text that Slurm refuses does not reach a script."""
    if name not in NAMES[command]:
        return False
    try:
        FakeOptions(command, options={name: text})
    except ValueError:
        return False
    return True


def _command(command: str, options: dict[str, str], release: str) -> Command:
    shown = " ".join(f"--{name}={text!r}" if " " in text else f"--{name}={text}" for name, text in options.items())
    return Command(f"{command} {shown}".rstrip(), command, options, release=release)


class _Loaded:
    """A script that has been loaded for one command."""

    def __init__(self, path: str, release: Release, version: str, now: int) -> None:
        self._stopped: list[str] = []
        self._captured = CapturedLog()
        self._path = path
        with self._captured.capturing():
            self._script = cli_filter.Script(path, version, release, guard(self._stopped, now))

    def answer(self, request: Command) -> Answer:
        """Go through the calls of a command, as Slurm makes them, until one refuses."""
        defaults = FakeOptions(request.command, argv=request.argv, release=request.release)
        code = self._call("setup_defaults", defaults)
        options = FakeOptions(
            request.command, options=request.options, argv=request.argv, defaults=defaults, release=request.release
        )
        code = code or self._call("pre_submit", options, 0)
        if not code:
            with self._captured.capturing():
                self._script.post_submit(0, 17, NO_VAL[32])
        texts = (line.partition(": ")[2] for line in self._captured.lines)
        errors = (text.partition(f"/lua: {self._path}: ")[2] for text in texts if text.startswith("cli_filter_p_"))
        return Answer(code, [], {}, [], next(errors, None), self._stopped)

    def _call(self, name: str, options: FakeOptions, *numbers: int) -> int:
        """Call a function of the script; return its code, 0 after an error."""
        with self._captured.capturing():
            try:
                getattr(self._script, name)(options, *numbers)
                options.commit()
            except Reject as refusal:
                return int(refusal.code or 0)
        return 0


def under_slurmhooks(path: str, release: str, version: str, now: int) -> Callable[[Command], Answer]:
    """Return a function that answers as a script does under slurmhooks.

    Raises:
        LoadError: the script does not load.
    """
    new = partial(_Loaded, path, release_of(release), version, now)
    new()
    return lambda command: new().answer(command)
