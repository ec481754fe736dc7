# SPDX-License-Identifier: GPL-2.0-or-later
"""Registers options with Slurm, and converts the values that users give."""

from __future__ import annotations

from slurmhooks.errors import Reject
from slurmhooks.handlers import deadline, dispatch, trace
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.hooks.points import MOST_OPTIONS, STEP_CONTEXTS
from slurmhooks.log import log
from slurmhooks.values import text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.hooks.option import Option
    from slurmhooks.spank.calls import Calls


LONGEST = 1 << 16
"""Most characters of a text and what a check has made of it that travel together: Linux limits variables."""


class Names:
    """The names of the options of all lines of plugstack.conf; in Slurm they share one name space."""

    __slots__ = ("_by_variable",)

    def __init__(self) -> None:
        self._by_variable: dict[str, str] = {}

    def clash(self, option: Option) -> str | None:
        """Add an option; return a finding if Slurm would pass on its value under the name of another option."""
        shared = option.variable
        other = self._by_variable.get(shared)
        if other is None:
            self._by_variable[shared] = option.name
            return None
        return (
            f"option --{option.name}: another line of plugstack.conf, or this one a second time, has --{other}, and"
            f" Slurm hands both on as {shared}: rename one of them"
        )


def too_many(registry: Registry) -> str | None:
    """Return a finding if a line of plugstack.conf has more options than C can handle."""
    count = len(registry.options)
    return f"a line may have {MOST_OPTIONS} options, not {count}" if count > MOST_OPTIONS else None


class Options:
    """The options of all lines of plugstack.conf in this process."""

    __slots__ = ("_ffi", "_given", "_keep", "_lib", "_names", "_refused", "_texts")

    def __init__(self, native: Any) -> None:
        """Start without options; ``native`` is the compiled module."""
        self._ffi = native.ffi
        self._lib = native.lib
        self._keep: list[Any] = []
        self._names = Names()
        self._given: set[Option] = set()
        self._refused: dict[Option, Outcome] = {}
        self._texts: dict[Option, str | None] = {}

    def refused(self, registry: Registry) -> Outcome | None:
        """Return the refusal of an option's value in slurmstepd, where Slurm only logs that an option failed."""
        for option in registry.options:
            if option in self._refused:
                return self._refused[option]
        return None

    def register(self, registry: Registry, handle: Any, context: str, callback: int, base: int) -> bool:
        """Register the options of a line with Slurm; return False if that fails.

        ``callback`` is the address of the C function that Slurm calls for each option, ``base`` the number of the first
        option of the line; the others follow.
        """
        if context not in STEP_CONTEXTS:
            return True
        finding = too_many(registry)
        if finding is not None:
            log.error("plugstack.conf: %s", finding)
            return False
        for index, option in enumerate(registry.options):
            if context not in option.contexts:
                continue
            if option.scripted:
                # If the options of two scripts have the same name, Slurm logs that and uses the first.
                self.add(option, handle, base + index, callback)
                continue
            finding = self._names.clash(option)
            if finding is not None:
                log.error("%s", finding)
                return False
            code = self._lib.spank_option_register(handle, self._struct(option, base + index, callback))
            if code:
                reason = text_from_c(self._ffi.string(self._lib.spank_strerror(code)))
                log.error("%r: spank_option_register: %s", option, reason)
                return False
        return True

    def add(self, option: Option, handle: Any, value: int, callback: int) -> int:
        """Register an option with Slurm; return Slurm's code."""
        return int(self._lib.spank_option_register(handle, self._struct(option, value, callback)))

    def _struct(self, option: Option, value: int, callback: int) -> Any:
        """Return a ``struct spank_option``, and keep it: Slurm copies it, but does not document that."""
        struct = self._ffi.new("struct spank_option *")
        for member, text in (("name", option.name), ("arginfo", option.arginfo), ("usage", option.usage)):
            if text is not None:
                string = self._ffi.new("char[]", text.encode())
                self._keep.append(string)
                setattr(struct, member, string)
        struct.has_arg = option.has_arg
        struct.val = value
        struct.cb = self._ffi.cast("int (*)(int, const char *, int)", callback)
        self._keep.append(struct)
        return struct

    def next_component(self) -> None:
        """Let the values of the next component of a heterogeneous job replace those of this one."""
        self._given.clear()

    def take(self, option: Option, text: str | None, where: str) -> bool:
        """Convert and store a value that the user gave; return False if it is refused. The last value counts.

        Without an argument, ``text`` is None. ``where``: "local": on the command line or in the script; "variable"; or
        the context. In slurmstepd a refusal is stored for :meth:`refused`. In prolog and epilog a refused option counts
        as not given: a failure would drain the node because of a text that a user wrote.
        """
        with deadline.of_option(option.name, where):
            refused = store(option, text, again=where == "local" and option in self._given)
        if where == "local":
            self._given.add(option)
        else:
            self._given.discard(option)
        self._texts[option] = text
        if refused is None:
            self._refused.pop(option, None)
            return True
        option.reset()
        if where == "remote":
            self._refused[option] = refused
        elif where == "job_script":
            log.error("ignored: %s", refused.text)
        elif refused.error_id is None:
            log.error("%s", refused.text)
        else:
            log.user(refused.text or "")
        return False

    def send(self, registry: Registry, calls: Calls) -> None:
        """Pass on what the checks have made of the values, in place of the texts of the user; in init_post_opt.

        Slurm has stored the texts for batch jobs, prolog and epilog by then, but it passes those of srun on later: the
        last ones, also to other components of a heterogeneous job. So srun also has a variable of its own for steps,
        with the text for which it holds.
        """
        for option in registry.options:
            text = self._texts.pop(option, None)
            if text is None or not option.checked:
                continue
            with deadline.of_option(option.name, "local"):
                made = made_of(option, text)
            if made is None or made == text or len(text) + len(made) > LONGEST:
                continue
            calls.write_process_variable(option.variable, made)
            calls.write_variable("spank_job_control_setenv", option.variable, made)
            if calls.context == "local":
                calls.write_process_variable(option.made, f"{len(text)}:{text}{made}")

    def receive(self, registry: Registry, calls: Calls) -> None:
        """Take what srun has made of the values in place of the texts of the user, and check that as those."""
        for option in [option for option in registry.options if option in self._texts]:
            text = self._texts.pop(option)
            sent = calls.read_variable("spank_getenv", option.made, "in slurmstepd") if option.checked else None
            if sent is None:
                continue
            calls.write_variable("spank_setenv", option.made, None)
            start = f"{len(text or '')}:{text}"
            if sent.startswith(start):
                self.take(option, sent[len(start) :], "remote")
                del self._texts[option]

    def of_script(self, registry: Registry, handle: Any) -> None:
        """Read the options in prolog and epilog, where Slurm calls no option callbacks."""
        for option in registry.options:
            if option.given or "job_script" not in option.contexts:
                continue
            argument = self._ffi.new("char **")
            if self._lib.spank_option_getopt(handle, self._struct(option, 0, 0), argument):
                continue
            text = None if argument[0] == self._ffi.NULL else text_from_c(self._ffi.string(argument[0]))
            self.take(option, text, "job_script")


def made_of(option: Option, text: str) -> str | None:
    """Return the text that stands for the value of an option, see Option.as_text; None if a check fails now."""
    made: str | None = trace.tried(lambda: option.as_text(text), lambda _: None)
    return made


def store(option: Option, text: str | None, *, again: bool = False) -> Outcome | None:
    """Convert and store a value that the user gave, perhaps after earlier ones; return the outcome if that fails."""
    try:
        option.accept(option.convert(text), again)
    except BaseException as raised:  # noqa: BLE001 - a bug in a check must not end srun without a message
        return _refused(option, dispatch.tamed(raised))
    return None


def _refused(option: Option, error: BaseException) -> Outcome:
    """Return the outcome of an exception of a type or a check, which is tamed."""
    if isinstance(error, Reject):
        code = dispatch.code_of(error, f"check of {option!r}")
        return Outcome(passed=False, code=code, text=f"--{option.name}: {error.text}")
    if isinstance(error, ValueError):
        text = trace.tried(lambda: option.refusal(error), lambda _: None)
        if text is not None:
            return Outcome(passed=False, code="ESPANK_BAD_ARG", text=text)
    message, error_id = dispatch.report_bug(f"check of {option!r}", error)
    return Outcome(passed=False, text=message, error_id=error_id)
