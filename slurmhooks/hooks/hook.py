# SPDX-License-Identifier: GPL-2.0-or-later
"""``hook``, which hook files import: it has a decorator for each hook."""

from __future__ import annotations

import sys

from slurmhooks.hooks.decorator import MARKS, Decorator, collect, next_sequence, running_module
from slurmhooks.hooks.option import Option
from slurmhooks.hooks.points import HOOKS

TYPE_CHECKING: bool = False  # annotated, so that editors look into both branches
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from slurmhooks.hooks.decorators import Hooks  # written by tools/make_stubs.py

    Handler = TypeVar("Handler", bound="Callable[..., object]")


class Group:
    """The decorators below one name: one for each row of points.HOOKS that continues the name by one word.

    Attributes:
        _path: the name as a hook file spells it.
        _prefix: what the names of its hooks begin with.
    """

    def __init__(self, path: str, prefix: str) -> None:
        """Start empty; decorators are made when they are used, because a hook file uses few."""
        self._path = path
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        """Make a decorator or a group; or raise an error that lists the existing hooks."""
        if name.startswith("__"):  # the loader asks all that a hook file imports for marks, also in launches
            raise AttributeError(name)
        hook = self._prefix + name
        spec = HOOKS.get(hook)
        attribute: Group | Decorator
        if spec is not None:
            attribute = (JobHook if spec.runs_in else Every if spec.is_periodic else Decorator)(hook)
        elif name in dir(self):
            attribute = Group(f"{self._path}.{name}", f"{hook}.")
        else:
            raise AttributeError(f"{self._path} has no {name!r}; it has: {', '.join(dir(self))}")
        setattr(self, name, attribute)
        return attribute

    if not TYPE_CHECKING:

        def __call__(self, *arguments, **keywords):
            """Raise an error that says how to name a hook: a group is no decorator."""
            raise TypeError(f"{self._path} is not a decorator: name a hook, as in @{self._path}.{_first(self)}")

    def __dir__(self) -> list[str]:
        """Return the names of the hooks, the groups and other functions."""
        start = self._prefix
        names = {name.removeprefix(start).partition(".")[0] for name in HOOKS if name.startswith(start)}
        return sorted(names | {name for name in vars(type(self)) if not name.startswith("_")})


class JobSubmitHook(Decorator, Group):
    """``hook.job_submit``; ``init`` and ``fini`` are called at the start and the end of a worker process."""

    def __init__(self, hook: str) -> None:
        Decorator.__init__(self, hook)
        Group.__init__(self, repr(self), f"{hook}.")


class JobHook(Decorator):
    """``hook.job``: a rule about jobs, at their submission and at each update of theirs."""

    __slots__ = ()

    def __call__(
        self, function: Handler | None = None, /, *, admins: object = False, **keywords: object
    ) -> Handler | Callable[[Handler], Handler]:
        """Mark a function as a handler and return it unchanged.

        Args:
            function: the function, if the decorator is used without arguments.
            admins: the rule is also for requests of root and SlurmUser.
            keywords: see :class:`Decorator`.

        Raises:
            TypeError: an argument has the wrong type.
        """
        if not isinstance(admins, bool):
            raise TypeError(f"{self!r}: admins takes True or False, not {admins!r}")
        mark: Any = super().__call__(**keywords)  # type: ignore[arg-type] # checked there

        def of_job(function: Handler) -> Handler:
            marked: Handler = mark(function)
            getattr(marked, MARKS)[-1].admins = admins
            return marked

        return of_job if function is None else of_job(function)


class Every(Decorator):
    """The decorator: ``@hook.every("5m")``."""

    __slots__ = ()

    def __call__(
        self, period: object = None, /, *, at_most: object = None, **keywords: object
    ) -> Callable[[Handler], Handler]:
        """Mark a function that slurmctld's workers call periodically, on the active controller.

        Args:
            period: a number with a unit (s, m, h, d), from "10s" to "7d"; runs begin at its multiples since the epoch.
            at_most: number of actions on the jobs of one user, or on one node, 10 by default: none is taken if
                there are more. A run that would act on jobs of more users, or on more nodes, takes no action.
            keywords: see :class:`Decorator`; ``timeout`` is 60 seconds by default.

        Raises:
            TypeError: there is no period, or an argument has the wrong type.
        """
        if not isinstance(period, str):
            raise TypeError(f'{self!r} takes a period, as in @{self!r}("5m"); not {period!r}')
        # Not at the top: hook files for launches have no periodic handlers.
        from slurmhooks.hooks.schedule import AT_MOST, Schedule

        most = AT_MOST if at_most is None else at_most
        mark: Any = super().__call__(**keywords)  # type: ignore[arg-type] # checked there

        def scheduled(function: Handler) -> Handler:
            marked: Handler = mark(function)
            getattr(marked, MARKS)[-1].schedule = Schedule(period, most)
            return marked

        return scheduled


class SpankHooks(Group):
    """``hook.spank``: a decorator for each callback of spank(7), and options."""

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
            arginfo: one word that names the argument in ``--help``; None for a flag, which takes no argument.
            usage: the help text.
            optional: the argument may be omitted (``--name`` or ``--name=ARG``); the value is then True.
            type: converts the text of the argument; a ValueError that it raises refuses the text.
            contexts: where the option exists; "local" is srun, "allocator" is sbatch and salloc.

        Returns:
            an object whose ``.value`` is the same in every context.

        Raises:
            TypeError: usage is missing. (Other errors are reported when the file is loaded, all at once.)
        """
        if usage is None:
            raise TypeError(f"hook.spank.option({name!r}) needs usage=, the text for --help")
        places = (contexts,) if isinstance(contexts, str) else tuple(contexts)
        caller = sys._getframe(1)
        where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        option = Option(name, arginfo, usage, optional, type, places, next_sequence(), running_module(), where)
        collect(option)
        return option


def _first(group: Group) -> str:
    """Return the first hook of a group."""
    name = next(name for name in HOOKS if name.startswith(group._prefix))
    return name.removeprefix(group._prefix)


def _all_hooks() -> Any:
    """Return the group of all hooks; the groups that are more than names have classes of their own."""
    hooks: Any = Group("hook", "")
    hooks.job_submit = JobSubmitHook("job_submit")
    hooks.spank = SpankHooks("hook.spank", "spank.")
    return hooks


hook: Hooks = _all_hooks()
"""The object that hook files import."""
