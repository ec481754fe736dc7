# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries a cli_filter.lua with commands, under slurmhooks and in plain Lua.

Both sides have the same stand-in for the options of Slurm's commands (slurmhooks.workshop.testing.cli_filter); what
they compare is what the script reads, writes, logs and returns.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.errors import Reject
from slurmhooks.fields.rows import release_of
from slurmhooks.lua import cli_filter, finding
from slurmhooks.lua.job_constants import table_constants
from slurmhooks.lua.runtime import read_script
from slurmhooks.lua.slurm_table import LOG_USER_SINCE
from slurmhooks.values import NO_VAL
from slurmhooks.workshop.adopt.answers import Answer, failed
from slurmhooks.workshop.adopt.reference import RESULTS, Plain, code_of, minutes_of, text_of
from slurmhooks.workshop.adopt.under_slurmhooks import guard
from slurmhooks.workshop.testing.cli_filter import FakeOptions
from slurmhooks.workshop.testing.log_capture import CapturedLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.fields.rows import Release
    from slurmhooks.lua.library import Lua

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

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`from_json` reads."""
        return {**asdict(self), "unknown": []}


def from_json(given: dict[str, Any]) -> Command:
    """Return a command that another process has written."""
    return Command(**{**given, "unknown": frozenset()})


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


class Calls(Protocol):
    """A script that has been loaded for one command."""

    def call(self, name: str, options: FakeOptions, *numbers: int) -> int:
        """Call a function of the script; return its code, 0 after an error."""

    def answer(self, code: int, writes: dict[str, Any], stages: list[str]) -> Answer:
        """Return what the script has answered."""


def follow(script: Calls, request: Command) -> Answer:
    """Go through the calls of a command, as Slurm makes them, until one refuses."""
    stages = []
    defaults = FakeOptions(request.command, argv=request.argv, release=request.release)
    code = script.call("setup_defaults", defaults)
    stages.append(f"setup_defaults returned {code}")
    options = FakeOptions(
        request.command, options=request.options, argv=request.argv, defaults=defaults, release=request.release
    )
    if not code:
        code = script.call("pre_submit", options, 0)
        stages.append(f"pre_submit returned {code}")
    if not code:
        script.call("post_submit", options, 0, 17, NO_VAL[32])
    return script.answer(code, options.texts, stages)


class _Ours:
    def __init__(self, path: str, release: Release, version: str, now: int) -> None:
        self._stopped: list[str] = []
        self._captured = CapturedLog()
        self._path = path

        with self._captured.capturing():
            self._script = cli_filter.Script(path, version, release, guard(self._stopped, now))

    def call(self, name: str, options: FakeOptions, *numbers: int) -> int:
        with self._captured.capturing():
            try:
                if name == "post_submit":
                    self._script.post_submit(*numbers)
                else:
                    getattr(self._script, name)(options, *numbers)
                    options.commit()
            except Reject as refusal:
                return int(refusal.code or 0)
        return 0

    def answer(self, code: int, writes: dict[str, Any], stages: list[str]) -> Answer:
        log, error = stages, None
        for line in self._captured.lines:
            level, _, text = line.partition(": ")
            if "non-numeric return code" in text:
                log.append("info: non-numeric return code")
            elif text.startswith("cli_filter_p_"):
                name, _, failure = text.removeprefix("cli_filter_p_").partition(f"/lua: {self._path}: ")
                error = failure if error is None else error
                log.append(failed(name, failure))
            elif text.startswith(("lua: ", "json_cli_options ")):
                log.append(f"{level}: {text}")
        return Answer(code, self._captured.user_messages, writes, log, error, self._stopped)


class _Plain:
    def __init__(self, path: str, content: bytes, lua: Lua, release: Release, now: int) -> None:
        self._unknown: list[str] = []
        self._log: list[str] = []
        self._error: str | None = None
        self._release = release
        self._plain = plain = Plain(lua, self._unknown.append, now)
        constants = {
            name: value for name, value in {**table_constants(release), **RESULTS}.items() if value is not None
        }
        self._call, self._view, self._seen, self._begin = plain.part("reference_cli_filter.lua")(
            lambda options, name: options.raw_get(name), lambda options, name, text: options.raw_set(name, text),
            lambda options: _json({**options.given, "argv": self._words(options)}), _json_of_environment,
            plain.convert(constants), minutes_of, self._unknown.append, plain.part("reference_slurm.lua")(),
            release >= LOG_USER_SINCE,
        )  # fmt: skip
        plain.load(path, content)

    def call(self, name: str, options: FakeOptions, *numbers: int) -> int:
        self._begin(options, options.command, self._plain.convert(self._words(options)))
        arguments = [float(number) for number in numbers]
        try:
            result = self._call(name, *(arguments if name == "post_submit" else [self._view, *arguments]))
        except self._plain.failure as failure:
            text = text_of(failure)
            self._error = text if self._error is None else self._error
            self._seen.log[len(self._seen.log) + 1] = failed(name, text)
            return 0
        number = self._plain.number(result)
        if number is None:
            self._seen.log[len(self._seen.log) + 1] = "info: non-numeric return code"
        return code_of(number)

    def _words(self, options: FakeOptions) -> list[str]:
        return [] if self._release < (23, 2) and options.command == "salloc" else list(options.raw_argv())

    def answer(self, code: int, writes: dict[str, Any], stages: list[str]) -> Answer:
        return Answer(code, [], writes, [*stages, *self._seen.log.values()], self._error, self._unknown)


def ours(path: str, release: str, version: str, now: int) -> Callable[[Command], Answer]:
    """Return a function that answers as a script does under slurmhooks.

    Raises:
        LoadError: the script does not load.
    """
    new = partial(_Ours, path, release_of(release), version, now)
    new()
    return lambda command: follow(new(), command)


def plain(path: str, release: str, version: str, now: int) -> Callable[[Command], Answer]:
    """Return a function that answers as a script does in plain Lua.

    Raises:
        ValueError: the script does not load.
    """
    new = partial(_Plain, path, read_script(path), finding.find(version), release_of(release), now)
    new()
    return lambda command: follow(new(), command)


def _json(value: object) -> str:
    """Return JSON as Slurm prints it: without blanks, and with a backslash before each slash."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")


def _json_of_environment() -> str:
    hidden = ("SLURM_", "SPANK_", "_SLURM_SPANK_OPTION_")
    return _json({name: value for name, value in os.environ.items() if not name.startswith(hidden)})
