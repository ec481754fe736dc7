# SPDX-License-Identifier: GPL-2.0-or-later
"""The decorator that marks a function as a handler, and the collection of what a file has marked.

A decorator changes nothing about the function. Files are loaded by slurmhooks.loader, which finds the marks; what a
mark means is checked by slurmhooks.registry.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType
    from typing import Literal, TypeVar, overload

    from slurmhooks.option import Option

    Handler = TypeVar("Handler", bound="Callable[..., None]")
    OnError = Literal["reject", "accept", "fail", "ignore"]
    Context = Literal["local", "remote", "allocator", "slurmd", "job_script", "salloc", "sbatch", "srun", "scrontab"]

MARKS = "__slurmhooks__"
"""The attribute under which a function carries its marks."""


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


def collect(option: Option) -> None:
    """Record an option in the innermost collection, if there is one."""
    if _collections:
        _collections[-1].options.append(option)


def next_sequence() -> int:
    """Return a number that is higher than those of all earlier marks and options."""
    global _sequence
    _sequence += 1
    return _sequence


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
            owner = running_module()
            made = Mark(function, self._hook, order, on_error, given, next_sequence(), owner, timeout)
            now = _collections[-1].marks if _collections else []
            # A function of a module that stays may be marked by a file that is loaded again: that replaces its marks.
            earlier = [mark for mark in getattr(function, MARKS, ()) if mark.owner != owner or mark in now]
            setattr(function, MARKS, [*earlier, made])
            now.append(made)
            return function

        return mark if function is None else mark(function)
