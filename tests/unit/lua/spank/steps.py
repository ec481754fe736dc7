# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a script of spank-lua in the callbacks of a process, under slurmhooks and in plain Lua, which knows plain.lua.

Both sides have the same stand-in for Slurm's side of SPANK (slurmhooks.workshop.testing.spank); what they compare is
what the script reads, writes, logs and returns.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SpankError
from slurmhooks.hooks.points import HOOKS, POINTS
from slurmhooks.log import LEVELS
from slurmhooks.lua import finding, library
from slurmhooks.lua.spank import Script
from slurmhooks.lua.spank_handle import View
from slurmhooks.spank.fields import ITEMS
from slurmhooks.spank.model import Spank
from slurmhooks.values import ENCODING, ERRORS, ExitStatus
from slurmhooks.workshop.adopt.answers import ERROR_PLACE, Answer
from slurmhooks.workshop.testing.log_capture import CapturedLog
from slurmhooks.workshop.testing.spank import text_at
from tests.unit.lua.spank.conftest import Native

if TYPE_CHECKING:
    from slurmhooks.lua.spank_options import LuaOption

GLUE = Path(__file__).with_name("plain.lua")
TEXT = "surrogates"
"""The encoding of texts in Lua: UTF-8, in which any other byte is kept."""
CONTEXTS = ("local", "remote", "allocator", "job_script")
codecs.register(
    lambda name: (
        codecs.CodecInfo(
            lambda text, errors=ERRORS: (text.encode(ENCODING, ERRORS), len(text)),
            lambda raw, errors=ERRORS: (bytes(raw).decode(ENCODING, ERRORS), len(raw)),
            name=TEXT,
        )
        if name == TEXT
        else None
    )
)


@dataclass(frozen=True)
class Step:
    """A process that calls a script.

    ``options`` are those of the script that the user gives, with their arguments; ``env`` is that of the job, and the
    job control environment.
    """

    context: str
    options: dict[str, str | None] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    items: dict[str, Any] = field(default_factory=dict)


class StandIn(Native):
    """The stand-in for one process."""

    def __init__(self, step: Step) -> None:
        items = dict(step.items)
        if "task_exit_status" in items:
            items["task_exit_status"] = ExitStatus(items["task_exit_status"])
        super().__init__(items)
        self.env, self.job_control_env = dict(step.env), dict(step.env)
        self.context = step.context
        self.given = {name.encode(): None if text is None else text.encode() for name, text in step.options.items()}

    def spank_strerror(self, code: int) -> Any:
        """Implement the function of spank.h; the text only has to be the same on both sides."""
        return self._string(f"error {code}")

    def spank_option_getopt(self, handle: tuple[str, str], option: Any, argument: Any) -> int:
        """Implement the function of spank.h."""
        if handle[1] in ("init", "init_post_opt", "task_post_fork", "exit"):
            return self._error("ESPANK_NOT_AVAIL")
        return super().spank_option_getopt(handle, option, argument)


class _Process:
    """A script in one process: what both sides have in common."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.slurm = StandIn(step)
        self.log: list[str] = []
        self.messages: list[str] = []
        self.error: str | None = None
        self.stopped: list[str] = []

    def follow(self) -> Answer:
        """Make the calls of the process, as Slurm makes them."""
        code = 0
        for name in POINTS["spank"].functions:
            if self.step.context not in HOOKS[f"spank.{name}"].contexts:
                continue
            returned = self.run(name)
            self.log.append(f"{name} returned {returned}")
            code = code or returned
            if name == "init":
                self.take_options()
        state = {"env": dict(self.slurm.env), "job_control_env": dict(self.slurm.job_control_env)}
        # What has been written counts also if a callback fails.
        self.log += [f"{where} has {name}={text}" for where in state for name, text in sorted(state[where].items())]
        return Answer(code, self.messages, {}, self.log, self.error, self.stopped)

    def run(self, name: str) -> int:
        """Call the script's function of a callback, if it has one."""
        raise NotImplementedError

    def take_options(self) -> None:
        """Hand over the options that the user gives, in the order of their names."""
        raise NotImplementedError

    def fail(self, name: str, text: str) -> None:
        """Note an error of the script."""
        self.error = text if self.error is None else self.error
        self.log.append(failed(name, text))

    def view(self, name: str) -> tuple[str, str]:
        """Return the handle of a callback."""
        return self.step.context, name


class _OurProcess(_Process):
    def __init__(self, path: str, version: str, step: Step) -> None:
        super().__init__(step)
        self._captured = CapturedLog()
        self._registered: list[LuaOption] = []
        with self._captured.capturing():
            self._script = Script(path, version, False)
            self._script.read_options()
        self._note()

    def run(self, name: str) -> int:
        context = self.step.context
        view = View(self.slurm, self.view(name), context, name, ["a", "b"])
        with self._captured.capturing():
            code = self._script.run(name, view, self._register)
        self._note(name)
        return code

    def take_options(self) -> None:
        options: dict[str, LuaOption] = {}
        for option in (*self._script.options, *self._registered):
            options.setdefault(option.name, option)  # Slurm disables an option whose name is taken
        for name, option in sorted(options.items()):
            if name in self.step.options:
                text = self.step.options[name] if option.has_arg else None
                with self._captured.capturing():
                    code = option.take(text, self.step.context == "remote")
                self._note(name)
                self.log.append(f"{name} returned {min(code, 0)}")

    def _register(self, option: LuaOption) -> int:
        self._registered.append(option)
        return 0

    def _note(self, name: str = "") -> None:
        for line in self._captured.lines:
            level, _, text = line.partition(": ")
            _, colon, failure = text.partition(f"spank/lua: slurm_spank_{name}: ")
            _, called, other = text.partition("Failed to call lua callback function ")
            if colon or called:
                self.fail(name, failure if colon else other.partition(": ")[2])
            elif not text.startswith("spank/lua: ") or "_log_msg" in text:
                self.log.append(f"{level}: {text}")
        self.messages += self._captured.user_messages
        self._captured.lines.clear()
        self._captured.user_messages.clear()


class _PlainProcess(_Process):
    def __init__(self, path: str, version: str, step: Step) -> None:
        super().__init__(step)
        module: Any = library.load(finding.find(version))
        self._failure: type[Exception] = module.LuaError
        lua = module.LuaRuntime(encoding=TEXT, source_encoding=TEXT, unpack_returned_tuples=True)
        self._table, self._tonumber = lua.table_from, lua.globals().tonumber
        self._callback = ""
        self._registered: list[tuple[Any, ...]] = []
        self._made = lua.compile(GLUE.read_text())(self._ask, self._write)
        lua.compile(Path(path).read_text(), name=f"@{path}")()
        self._options = [tuple(row.values()) for row in self._made.options().values()]

    def run(self, name: str) -> int:
        self._callback = name
        words = self._table(["a", "b"])
        try:
            result = self._made.call(name, self.step.context, words, self.slurm.items["slurm_version"])
        except self._failure as failure:
            self.fail(name, text_of(failure))
            return 0
        return -1 if code_of(self._number(result)) < 0 else 0

    def take_options(self) -> None:
        rows: dict[Any, tuple[Any, ...]] = {}
        for row in (*self._options, *self._registered):
            rows.setdefault(row[0], (*row, *[None] * 4)[:4])  # as in Slurm, the first of a name
        for name, has_arg, callback, value in sorted(rows.values()):
            if name not in self.step.options:
                continue
            text = self.step.options[name] if has_arg else None
            text = None if has_arg == 2 and text in ("", "(null)") else text
            code = 0
            if callback:
                try:
                    taken = self._made.take(callback, value, text, self.step.context == "remote")
                    code = code_of(self._number(taken))
                except self._failure as failure:
                    self.fail(name, text_of(failure))
                    code = -1
            self.log.append(f"{name} returned {min(code, 0)}")

    def _number(self, result: Any) -> float | None:
        """Return the number that a function returned, which may be a text; None if it is none."""
        first = result[0] if isinstance(result, tuple) else result
        first = self._tonumber(first) if isinstance(first, str) else first
        return float(first) if isinstance(first, (int, float)) and not isinstance(first, bool) else None

    def _write(self, level: float, text: str) -> None:
        name = LEVELS[int(level) + 1]
        if name == "user":
            self.messages.append(text)
        else:
            self.log.append(f"{name}: {text}")

    def _ask(self, what: str, *given: Any) -> Any:
        """Answer a method of the handle."""
        slurm, handle = self.slurm, self.view(self._callback)
        if what == "remote":
            return "yes" if self.step.context == "remote" else "no"
        if what == "get_item":
            return self._item(*given)
        if what == "register":
            self._registered.append(given)
            return True
        if what == "getopt":
            name, has_arg = given[0], int(given[1])
            if handle[1] in ("init", "init_post_opt", "task_post_fork", "exit"):
                return None, f"error {slurm._error('ESPANK_NOT_AVAIL')}"
            if name not in self.step.options:
                return None, "Option unused"
            text = self.step.options[name] if has_arg else None
            return True if text is None or (has_arg == 2 and text in ("", "(null)")) else text
        return self._variable(what, *given)

    def _variable(self, what: str, name: str, *given: Any) -> Any:
        control = what.startswith("job_control_")
        if control and self.step.context == "job_script":
            self.stopped.append(f"spank:{what} in a prolog or epilog")
            return None
        prefix = "spank_job_control_" if control else "spank_"
        function = getattr(self.slurm, prefix + what.removeprefix("job_control_"))
        handle, key = self.view(self._callback), name.encode("utf-8", "surrogateescape")
        if what.endswith("getenv"):
            buffer = self.slurm.ffi.new("char[]", 65536)
            code = function(handle, key, buffer, 65536)
            return (None, f"error {code}") if code else text_at(buffer)
        values = [given[0].encode("utf-8", "surrogateescape"), int(given[1])] if given else []
        code = function(handle, key, *values)
        return (None, f"error {code}") if code else True

    def _item(self, name: Any = None, argument: Any = None) -> Any:
        item = next((item for item in ITEMS if item.item == name), None)
        if item is None or item.argument is not None or name in ("S_JOB_ENV", "S_TASK_EXIT_STATUS"):
            self.stopped.append(f"spank:get_item({name})")
            return None
        spank = Spank(self.slurm, self.view(self._callback), self.step.context, self._callback, ())
        try:
            value = getattr(spank, item.name)
        except SpankError as error:
            return None, f"error {self.slurm._error(str(error.code))}"
        if name == "S_JOB_STEPID" and value >= 1 << 31:
            value -= 1 << 32
        if isinstance(value, (list, tuple)):
            return self._table([_number(each) for each in value])
        return _number(value)


def _number(value: Any) -> Any:
    """Return a number as lua_pushnumber() gives it to a script: since Lua 5.3 that is no integer."""
    return float(value) if isinstance(value, int) else value


def text_of(failure: Exception) -> str:
    """Return the message of an error of Lua."""
    return str(failure).partition("\nstack traceback")[0]


def code_of(number: float | None) -> int:
    """Return a number of a script as the int that Slurm's C source takes it for; 0 for none."""
    return 0 if number is None else int(number) if abs(number) < 1 << 31 else -1 << 31


def failed(name: str, error: str) -> str:
    """Return what is compared of an error: the function that failed, and the line."""
    place = ERROR_PLACE.search(error)
    return f"{name} failed on line {place[1] if place else '?'}"


def ours(path: Path, version: str, step: Step) -> Answer:
    """Return what a script answers under slurmhooks."""
    return _OurProcess(str(path), version, step).follow()


def plain(path: Path, version: str, step: Step) -> Answer:
    """Return what it answers in plain Lua."""
    return _PlainProcess(str(path), version, step).follow()
