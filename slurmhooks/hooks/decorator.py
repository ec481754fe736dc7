# SPDX-License-Identifier: GPL-2.0-or-later
"""The decorator that marks functions as handlers.

A decorator returns its function unchanged and only adds a mark to it. slurmhooks.handlers.loader collects the marks,
and slurmhooks.handlers.registry checks them.
"""

from __future__ import annotations

import sys

from slurmhooks.errors import HandlerError
from slurmhooks.hooks.points import HOOKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType
    from typing import Any, TypeVar

    from slurmhooks.hooks.rollout import Rollout
    from slurmhooks.hooks.schedule import Schedule
    from slurmhooks.hooks.terms import Terms

    Handler = TypeVar("Handler", bound="Callable[..., object]")

MOST_ORDER = 1 << 31
COMMON = ("order", "on_error", "contexts", "timeout", "effects")
"""The arguments of all decorators. Which of them a hook allows, slurmhooks.handlers.registry checks."""
CALLERS = (("slurmhooks.handlers.registry", "call"), ("slurmhooks.handlers.job_rule", "call"))
"""Modules and names of the functions that call handlers."""
MARKS = "__slurmhooks__"
"""Name of the function attribute that holds the marks."""


class Mark:
    """The arguments of one use of a decorator.

    None is the hook's default of ``on_error``, all ``contexts`` of the hook, and no ``timeout`` (in seconds),
    ``rollout`` or ``schedule`` of its own. ``sequence`` is its number in the order of definition, ``owner`` the module
    whose top level ran, see :func:`running_module`. ``effects``: it may do more than read and write the request, and
    refuse it. ``admins``: of hook.job: it is also for root and SlurmUser.
    """

    admins = False

    def __init__(
        self,
        function: Callable[..., object],
        hook: str,
        order: int,
        on_error: str | None,
        contexts: tuple[str, ...] | None,
        sequence: int,
        owner: str,
        timeout: float | None = None,
        rollout: Rollout | None = None,
        terms: Terms | None = None,
        effects: bool = True,
    ) -> None:
        self.terms = terms
        self.effects = effects
        self.function = function
        self.hook = hook
        self.order = order
        self.on_error = on_error
        self.contexts = contexts
        self.timeout = timeout
        self.rollout = rollout
        self.schedule: Schedule | None = None
        self.sequence = sequence
        self.owner = owner


class Collection:
    """The marks and options that are defined in a ``with`` block.

    Attributes:
        source: name of the hook file or module that is being loaded.
        has_checks: checks of options are defined.
    """

    __slots__ = ("has_checks", "marks", "options", "source")

    def __init__(self, source: str = "") -> None:
        self.source = source
        self.marks: list[Mark] = []
        self.options: list[Any] = []  # option.py imports this module
        self.has_checks = False

    def __enter__(self) -> None:
        """Add new marks and options to this collection from now on."""
        _collections.append(self)

    def __exit__(self, *exception: object) -> None:
        """Stop adding new marks and options to this collection."""
        _collections.pop()


_collections: list[Collection] = []
_sequence = 0


def collect(option: Any) -> None:
    """Add an Option to the innermost collection, if any.

    Raises:
        HandlerError: a handler is running.
    """
    forbid_late(repr(option))
    if _collections:
        _collections[-1].options.append(option)


def collect_check(what: str) -> None:
    """Note that the check of an option is defined; raise as :func:`collect`."""
    forbid_late(what)
    if _collections:
        _collections[-1].has_checks = True


def forbid_late(what: str) -> None:
    """Refuse what a running handler defines: it has no effect, because Slurm knows handlers and options by then.

    A module that a handler imports may define handlers for others.

    Raises:
        HandlerError: a handler is running, and no file is being loaded.
    """
    if _collections:
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) in CALLERS:
            raise HandlerError(f"{what} has no effect in a handler that runs: write it at the top of a hook file")
        frame = frame.f_back


def next_sequence() -> int:
    """Return the next number for a mark or an option."""
    global _sequence
    _sequence += 1
    return _sequence


def running_module() -> str:
    """Return the name of the module whose top level is running; empty if there is none.

    It may differ from the module of the caller: a helper function of another module can define a handler for the file
    that calls it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


class Decorator:
    """A decorator that can be used with or without arguments.

    For type checkers, ``hook`` has the decorators of decorators.pyi, each with the arguments of its hook.
    """

    __slots__ = ("_hook",)

    def __init__(self, hook: str) -> None:
        self._hook = hook

    def __repr__(self) -> str:
        """Return the decorator as a hook file spells it."""
        return f"hook.{self._hook}"

    def __call__(
        self,
        function: Handler | None = None,
        /,
        *,
        order: int = 50,
        on_error: str | None = None,
        contexts: Iterable[str] | None = None,
        timeout: float | None = None,
        effects: bool = True,
        **rollout: object,
    ) -> Handler | Callable[[Handler], Handler]:
        """Mark a function as a handler and return it unchanged.

        Args:
            function: the function, if the decorator is used without arguments.
            order: handlers with a lower order run first; with the same order, in file order, then in definition order.
            on_error: the effect of a bug in the handler: "reject" (default) or "accept" for job_submit and job_modify,
                "keep" (default) or "drain" for health checks, "fail" (default) or "ignore" for all others.
            contexts: for SPANK, any of "local", "remote", "allocator", "slurmd", "job_script"; for cli_filter, any of
                "salloc", "sbatch", "srun", "scrontab"; for health checks, see docs/node.md; by default, all in which
                Slurm makes the call.
            timeout: seconds that the handler may take; exceeding them is a bug in it. In hooks of slurmctld, such as
                job_submit, it is killed with its worker process, and ``timeout`` of the configuration limits all
                handlers of a request together. Elsewhere DeadlineExceeded is raised in it.
            effects: job_submit and job_modify only. False promises that the handler does nothing but read and write the
                request, and refuse it: then it is also tried after a refusal, with ``[rules] refusals = "all"``.
            rollout: job_submit, job_modify and every only, see docs/modes.md. ``mode``: "enforce" (default), "warn",
                "observe" or "off". ``percent``, ``users``, ``accounts``, ``partitions``: conditions; the mode
                is for requests that meet all of those given. ``otherwise``: the mode for all other requests,
                "observe" by default. ``note``: what users read after a warning. Health checks have ``mode``, ``every``,
                ``fails`` and ``nodes``, see slurmhooks.hooks.terms.

        Raises:
            TypeError: an argument has the wrong type. (Invalid values are reported when the file is loaded, all at
                once.)
        """
        if isinstance(order, bool) or not isinstance(order, int):
            raise TypeError(f"{self!r}: order takes an int, not {order!r}")
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
            raise TypeError(f"{self!r}: timeout takes seconds, not {timeout!r}")
        if not isinstance(effects, bool):
            raise TypeError(f"{self!r}: effects takes True or False, not {effects!r}")
        # Not of subclasses, whose comparisons are code of the site.
        order = int.__index__(order)
        if abs(order) > MOST_ORDER:
            raise TypeError(f"{self!r}: order takes an int from -{MOST_ORDER} to {MOST_ORDER}")
        if timeout is not None:
            timeout = int.__index__(timeout) if isinstance(timeout, int) else float.__float__(timeout)
        if isinstance(contexts, str):
            contexts = (contexts,)
        terms = self._terms(rollout) if HOOKS[self._hook].has_terms else None
        mode = self._rollout(rollout) if rollout and terms is None else None
        try:
            checked = None if contexts is None else tuple(contexts)
        except TypeError:
            raise TypeError(f"{self!r}: contexts takes a text or several, not {contexts!r}") from None

        def mark(function: Handler) -> Handler:
            if not callable(function):
                raise TypeError(
                    f"{self!r} decorates a function, not {function!r}; its arguments have names, as in"
                    f" @{self!r}(order=10)"
                )
            if not hasattr(function, "__dict__") or hasattr(function, "__self__"):
                raise TypeError(f"{self!r} decorates a function, not {function!r}: write a function that calls it")
            forbid_late(f"@{self!r}")
            owner = running_module()
            new = Mark(
                *(function, self._hook, order, on_error, checked, next_sequence(), owner, timeout, mode, terms, effects)
            )
            current = _collections[-1].marks if _collections else []
            # An installed module stays imported when a hook file that marks its functions is loaded a second time. The
            # new marks of that file replace those of the first load.
            kept = [mark for mark in getattr(function, MARKS, ()) if mark.owner != owner or mark in current]
            setattr(function, MARKS, [*kept, new])
            current.append(new)
            return function

        return mark if function is None else mark(function)

    def _terms(self, keywords: dict[str, object]) -> Terms:
        """Return the terms of a health check.

        Raises:
            TypeError: decorators of health checks have no such argument.
        """
        from slurmhooks.hooks.terms import KEYS, Terms

        self._permit(keywords, KEYS)
        return Terms(**keywords)  # type: ignore[arg-type] # registry.verify() checks the values

    def _rollout(self, keywords: dict[str, object]) -> Rollout:
        """Return mode and share.

        Raises:
            TypeError: decorators have no such argument.
        """
        from slurmhooks.hooks.rollout import KEYS, Rollout

        self._permit(keywords, KEYS)
        return Rollout(**keywords)  # type: ignore[arg-type] # registry.verify() checks the values

    def _permit(self, keywords: dict[str, object], own: tuple[str, ...]) -> None:
        """Raise TypeError for an argument that is neither common to all decorators nor one of these."""
        for name in keywords:
            if name not in own:
                raise TypeError(f"{self!r} has no argument {name!r}; it has: {', '.join((*COMMON, *own))}")
