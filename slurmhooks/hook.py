# SPDX-License-Identifier: GPL-2.0-or-later
"""What a site imports: the decorators that mark a function as a handler.

A decorator changes nothing about the function. Files are loaded by slurmhooks.loader, which finds the marks; what a
mark means is checked by slurmhooks.registry.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType
    from typing import Any, Generic, Literal, overload

    from typing_extensions import TypeVar

    Handler = TypeVar("Handler", bound="Callable[..., None]")
    Value = TypeVar("Value", default=Any)
    OnError = Literal["reject", "accept", "fail", "ignore"]
    Context = Literal["local", "remote", "allocator", "slurmd", "job_script"]

    class _Of(Generic[Value]):
        """Makes a class generic."""

else:
    Value, _Of = None, {None: object}  # the same without importing typing

MARKS = "__slurmhooks__"
"""The attribute under which a function carries its marks."""

CONTEXTS = ("local", "remote", "allocator", "slurmd", "job_script")
"""The contexts of spank_context(), by Slurm's names; index + 1 is Slurm's number."""


class HookSpec:
    """One documented function of Slurm that handlers can stand in for.

    Attributes:
        name: how a site names it below ``hook``.
        function: Slurm's function.
        arguments: the names that a handler may take, any subset.
        contexts: for SPANK, the contexts in which Slurm makes this call.
        on_error: what a handler's bug may do; the first is the default, the second lets the request pass.
    """

    __slots__ = ("arguments", "contexts", "function", "name", "on_error")

    @property
    def has_timeout(self) -> bool:
        """Whether handlers may have a time limit of their own: they run in worker processes."""
        return self.name in ("job_submit", "job_modify")

    def __init__(
        self,
        name: str,
        function: str,
        arguments: tuple[str, ...],
        on_error: tuple[str, str],
        contexts: tuple[str, ...] = (),
    ) -> None:
        """Keep the description; see the class."""
        self.name = name
        self.function = function
        self.arguments = arguments
        self.on_error = on_error
        self.contexts = contexts


_SUBMIT = ("reject", "accept")
_FAIL = ("fail", "ignore")
_LISTS = ("partitions", "reservations", "jobs")
_ALL_BUT_SCRIPT = ("local", "remote", "allocator", "slurmd")
_STEP = ("local", "remote", "allocator")
_REMOTE = ("remote",)

HOOKS = {
    spec.name: spec
    for spec in (
        HookSpec("job_submit", "job_submit()", ("job", "submit_uid", *_LISTS), _SUBMIT),
        HookSpec("job_modify", "job_modify()", ("job", "record", "modify_uid", *_LISTS), _SUBMIT),
        HookSpec("job_submit.init", "init()", (), _FAIL),
        HookSpec("job_submit.fini", "fini()", (), _FAIL),
        HookSpec("spank.init", "slurm_spank_init()", ("spank",), _FAIL, _ALL_BUT_SCRIPT),
        HookSpec("spank.job_prolog", "slurm_spank_job_prolog()", ("spank",), _FAIL, ("job_script",)),
        HookSpec("spank.init_post_opt", "slurm_spank_init_post_opt()", ("spank",), _FAIL, _STEP),
        HookSpec("spank.local_user_init", "slurm_spank_local_user_init()", ("spank",), _FAIL, ("local",)),
        HookSpec("spank.user_init", "slurm_spank_user_init()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_init_privileged", "slurm_spank_task_init_privileged()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_init", "slurm_spank_task_init()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_post_fork", "slurm_spank_task_post_fork()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.task_exit", "slurm_spank_task_exit()", ("spank",), _FAIL, _REMOTE),
        HookSpec("spank.exit", "slurm_spank_exit()", ("spank",), _FAIL, _STEP),
        HookSpec("spank.job_epilog", "slurm_spank_job_epilog()", ("spank",), _FAIL, ("job_script",)),
        HookSpec("spank.slurmd_exit", "slurm_spank_slurmd_exit()", ("spank",), _FAIL, ("slurmd",)),
        HookSpec("scrun.stage_in", "slurm_scrun_stage_in()", ("container",), _FAIL),
        HookSpec("scrun.stage_out", "slurm_scrun_stage_out()", ("container",), _FAIL),
    )
}
"""Every hook, by its name below ``hook``. A new one is a row here and, for typing, an attribute below."""


class Mark:
    """What a decorator wrote on a function.

    Attributes:
        function: the decorated function.
        hook: name of the hook.
        order: low runs first.
        on_error: as given, or None for the hook's default.
        contexts: as given, or None for all.
        timeout: as given, or None.
        sequence: counts marks in the order of definition.
        owner: name of the module that made it, see :func:`running_module`.
    """

    __slots__ = ("contexts", "function", "hook", "on_error", "order", "owner", "sequence", "timeout")

    def __init__(
        self,
        function: Callable[..., None],
        hook: str,
        order: int,
        on_error: str | None,
        contexts: tuple[str, ...] | None,
        sequence: int,
        owner: str,
        timeout: float | None = None,
    ) -> None:
        """Keep what was given; see the class."""
        self.function = function
        self.hook = hook
        self.order = order
        self.on_error = on_error
        self.contexts = contexts
        self.timeout = timeout
        self.sequence = sequence
        self.owner = owner


class Collection:
    """The marks and options that were made while one file was loaded."""

    __slots__ = ("marks", "options")

    def __init__(self) -> None:
        """Start empty."""
        self.marks: list[Mark] = []
        self.options: list[Option] = []


_collections: list[Collection] = []
_sequence = 0


def collecting(collection: Collection | None) -> None:
    """Record marks and options in a collection from now on; None ends the innermost one. For the loader."""
    if collection is None:
        _collections.pop()
    else:
        _collections.append(collection)


def running_module() -> str:
    """Return the name of the module whose top level runs; empty if none does.

    Not that of the function which calls: a helper of another module may make a handler for the file that calls it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


class Decorator:
    """A decorator that works bare or with keywords."""

    __slots__ = ("_hook",)

    def __init__(self, hook: str) -> None:
        """Mark functions for the hook of that name."""
        self._hook = hook

    def __repr__(self) -> str:
        """Return how a site spells it."""
        return f"hook.{self._hook}"

    if TYPE_CHECKING:

        @overload
        def __call__(self, function: Handler, /) -> Handler: ...

        @overload
        def __call__(
            self,
            /,
            *,
            order: int = ...,
            on_error: OnError = ...,
            contexts: Context | Iterable[Context] = ...,
            timeout: float = ...,
        ) -> Callable[[Handler], Handler]: ...

    def __call__(
        self,
        function: Handler | None = None,
        /,
        *,
        order: int = 50,
        on_error: str | None = None,
        contexts: Iterable[str] | None = None,
        timeout: float | None = None,
    ) -> Handler | Callable[[Handler], Handler]:
        """Mark a function as a handler and return it unchanged.

        Args:
            function: the function, when used without keywords.
            order: low runs first; ties run in file order, then in definition order.
            on_error: what a bug in the handler does: "reject" (default) or "accept" for job_submit and job_modify,
                "fail" (default) or "ignore" for SPANK and scrun.
            contexts: SPANK only: any of "local", "remote", "allocator", "slurmd", "job_script"; default all in which
                Slurm makes the call.
            timeout: job_submit and job_modify only: seconds that the handler may take, on top of what ``[job_submit]
                timeout`` bounds for all of them together. A handler that takes longer is ended with its worker process,
                as a bug of it.

        Raises:
            TypeError: a keyword has the wrong type. (Wrong values are found when the file is loaded, all at once.)
        """
        if isinstance(order, bool) or not isinstance(order, int):
            raise TypeError(f"{self!r}: order takes an int, not {order!r}")
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
            raise TypeError(f"{self!r}: timeout takes seconds, not {timeout!r}")
        if isinstance(contexts, str):
            contexts = (contexts,)
        try:
            given = None if contexts is None else tuple(contexts)
        except TypeError:
            raise TypeError(f"{self!r}: contexts takes a text or several, not {contexts!r}") from None

        def mark(function: Handler) -> Handler:
            if not callable(function):
                raise TypeError(f"{self!r} decorates a function, not {function!r}")
            if not hasattr(function, "__dict__") or hasattr(function, "__self__"):
                raise TypeError(f"{self!r} decorates a function, not {function!r}: write a function that calls it")
            global _sequence
            _sequence += 1
            owner = running_module()
            made = Mark(function, self._hook, order, on_error, given, _sequence, owner, timeout)
            now = _collections[-1].marks if _collections else []
            # A function of a module that stays may be marked by a file that is loaded again: that replaces its marks.
            earlier = [mark for mark in getattr(function, MARKS, ()) if mark.owner != owner or mark in now]
            setattr(function, MARKS, [*earlier, made])
            now.append(made)
            return function

        return mark if function is None else mark(function)


class Option(_Of[Value]):
    """A command line option of srun, sbatch and salloc that a site adds.

    Attributes:
        name: without the dashes.
        arginfo: one word for ``--help``, or None for a flag that takes no argument.
        usage: the help text.
        optional: the argument may be left out.
        type: turns the argument's text into a value.
        contexts: where it is known.
        sequence: counts options in the order of definition.
        owner: name of the module that made it, see :func:`running_module`.
        where: file and line, for messages.
        scripted: it is of a Lua script, see slurmhooks.lua.
    """

    scripted = False

    __slots__ = (
        "_checks",
        "_given",
        "_value",
        "arginfo",
        "contexts",
        "name",
        "optional",
        "owner",
        "sequence",
        "type",
        "usage",
        "where",
    )

    def __init__(
        self,
        name: str,
        arginfo: str | None,
        usage: str,
        optional: bool,
        type: Callable[[str], Value],
        contexts: tuple[str, ...],
        sequence: int,
        owner: str,
        where: str = "",
    ) -> None:
        """Keep the description; see the class."""
        self.name = name
        self.arginfo = arginfo
        self.usage = usage
        self.optional = optional
        self.type = type
        self.contexts = contexts
        self.sequence = sequence
        self.owner = owner
        self.where = where
        self._checks: list[Callable[[Value], Value]] = []
        self._value: Value | None = None
        self._given = False

    def __repr__(self) -> str:
        """Return how a site spells it."""
        return f"hook.spank.option({self.name!r})"

    @property
    def value(self) -> Value | None:
        """The value given by the user: None if not given, True for a flag without an argument."""
        return self._value

    @property
    def given(self) -> bool:
        """Whether the user gave the option, on the command line or by its environment variable."""
        return self._given

    @property
    def has_arg(self) -> int:
        """``has_arg`` of ``struct spank_option``: 0 none, 1 required, 2 optional."""
        return 0 if self.arginfo is None else 2 if self.optional else 1

    @property
    def checked(self) -> bool:
        """Whether a value must pass a type or a check before anything is submitted."""
        return bool(self._checks) or self.type is not str

    def check(self, function: Callable[[Value], Value]) -> Callable[[Value], Value]:
        """Decorate a validator: it takes the value and returns the one to keep.

        It runs in srun, sbatch and salloc before anything is submitted, and again in slurmstepd. The text of a
        ``Reject`` or ``ValueError`` that it raises is what the user sees.
        """
        self._checks.append(function)
        return function

    def convert(self, argument: str | None) -> Value:
        """Return the value for an argument; raises what type and checks raise. For the SPANK point.

        Args:
            argument: the text, None if there is none.
        """
        value: Any = True if argument is None else self.type(argument)
        result: Value = value
        for check in self._checks:
            result = check(result)
        return result

    def accept(self, value: Value) -> None:
        """Keep a converted value. For the SPANK point."""
        self._value = value
        self._given = True

    def reset(self) -> None:
        """Forget the value. For the SPANK point and for tests."""
        self._value = None
        self._given = False


def _unknown(group: object, name: str, below: str) -> AttributeError:
    """Return the error for a hook that does not exist."""
    names = ", ".join(known for known in sorted(vars(group)) if not known.startswith("_"))
    return AttributeError(f"{below} has no {name!r}; it has: {names}")


class JobSubmitHook(Decorator):
    """``hook.job_submit``, and below it the plugin's own start and end."""

    __slots__ = ("fini", "init")

    def __init__(self) -> None:
        """Make the three decorators."""
        super().__init__("job_submit")
        self.init = Decorator("job_submit.init")
        self.fini = Decorator("job_submit.fini")


class SpankHooks:
    """``hook.spank``: one decorator a callback of spank(7), and options."""

    def __init__(self) -> None:
        """Make the decorators."""
        self.init = Decorator("spank.init")
        self.job_prolog = Decorator("spank.job_prolog")
        self.init_post_opt = Decorator("spank.init_post_opt")
        self.local_user_init = Decorator("spank.local_user_init")
        self.user_init = Decorator("spank.user_init")
        self.task_init_privileged = Decorator("spank.task_init_privileged")
        self.task_init = Decorator("spank.task_init")
        self.task_post_fork = Decorator("spank.task_post_fork")
        self.task_exit = Decorator("spank.task_exit")
        self.exit = Decorator("spank.exit")
        self.job_epilog = Decorator("spank.job_epilog")
        self.slurmd_exit = Decorator("spank.slurmd_exit")

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Explain a hook that does not exist."""
            raise _unknown(self, name, "hook.spank")

    if TYPE_CHECKING:

        @overload
        def option(
            self, name: str, arginfo: None = None, *, usage: str, contexts: Context | Iterable[Context] = ...
        ) -> Option[Literal[True]]: ...

        @overload
        def option(
            self, name: str, arginfo: None, usage: str, *, contexts: Context | Iterable[Context] = ...
        ) -> Option[Literal[True]]: ...

        @overload
        def option(
            self,
            name: str,
            arginfo: str,
            usage: str,
            *,
            optional: Literal[False] = ...,
            contexts: Context | Iterable[Context] = ...,
        ) -> Option[str]: ...

        @overload
        def option(
            self,
            name: str,
            arginfo: str,
            usage: str,
            *,
            optional: Literal[False] = ...,
            type: Callable[[str], Value],
            contexts: Context | Iterable[Context] = ...,
        ) -> Option[Value]: ...

        @overload
        def option(
            self,
            name: str,
            arginfo: str,
            usage: str,
            *,
            optional: Literal[True],
            contexts: Context | Iterable[Context] = ...,
        ) -> Option[str | Literal[True]]: ...

        @overload
        def option(
            self,
            name: str,
            arginfo: str,
            usage: str,
            *,
            optional: Literal[True],
            type: Callable[[str], Value],
            contexts: Context | Iterable[Context] = ...,
        ) -> Option[Value | Literal[True]]: ...

    def option(
        self,
        name: str,
        arginfo: str | None = None,
        usage: str | None = None,
        optional: bool = False,
        type: Callable[[str], Any] = str,
        contexts: Iterable[str] = ("local", "remote", "allocator", "job_script"),
    ) -> Option[Any]:
        """Add a command line option to srun, sbatch and salloc.

        Args:
            name: without the dashes, at most 75 bytes.
            arginfo: one word that stands for the argument in ``--help``; None: a flag that takes no argument.
            usage: the help text.
            optional: the argument may be left out (``--name`` or ``--name=ARG``); the value is then True.
            type: turns the argument's text into a value; a ValueError refuses it.
            contexts: where it is known; "local" is srun, "allocator" sbatch and salloc.

        Returns:
            an object whose ``.value`` reads the same in every context.

        Raises:
            TypeError: there is no usage. (What else is wrong is found when the file is loaded, all at once.)
        """
        if usage is None:
            raise TypeError(f"hook.spank.option({name!r}) needs usage=, the text for --help")
        global _sequence
        _sequence += 1
        given = (contexts,) if isinstance(contexts, str) else tuple(contexts)
        caller = sys._getframe(1)
        where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        option = Option(name, arginfo, usage, optional, type, given, _sequence, running_module(), where)
        if _collections:
            _collections[-1].options.append(option)
        return option


class ScrunHooks:
    """``hook.scrun``: the staging functions of scrun.lua(5)."""

    def __init__(self) -> None:
        """Make the decorators."""
        self.stage_in = Decorator("scrun.stage_in")
        self.stage_out = Decorator("scrun.stage_out")

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Explain a hook that does not exist."""
            raise _unknown(self, name, "hook.scrun")


class Hooks:
    """The root of all decorators."""

    def __init__(self) -> None:
        """Make the decorators."""
        self.job_submit = JobSubmitHook()
        self.job_modify = Decorator("job_modify")
        self.spank = SpankHooks()
        self.scrun = ScrunHooks()

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Explain a hook that does not exist."""
            raise _unknown(self, name, "hook")


hook = Hooks()
"""What a hook file imports."""
