# SPDX-License-Identifier: GPL-2.0-or-later
"""``hook``, which hook files import: it has a decorator for each hook."""

from __future__ import annotations

import sys

from slurmhooks.hooks.decorator import Decorator, collect, next_sequence, running_module
from slurmhooks.hooks.option import Option
from slurmhooks.hooks.points import HOOKS

TYPE_CHECKING: bool = False  # annotated, so that editors look into both branches
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from slurmhooks.hooks.decorators import Hooks  # written by tools/make_stubs.py


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
        if spec is not None and (spec.runs_in or spec.is_periodic):
            from slurmhooks.hooks import workers  # hook files for launches have no such handlers

            attribute = (workers.JobHook if spec.runs_in else workers.Every)(hook)
        elif spec is not None:
            attribute = Decorator(hook)
        elif name in dir(self):
            attribute = Group(f"{self._path}.{name}", f"{hook}.")
        else:
            raise AttributeError(f"{self._path} has no {name!r}; it has: {', '.join(dir(self))}")
        setattr(self, name, attribute)
        return attribute

    def __repr__(self) -> str:
        """Return the name as a hook file spells it."""
        return self._path

    if not TYPE_CHECKING:

        def __call__(self, *arguments, **keywords):
            """Use ``hook.job_submit``, which is a decorator, too; or raise an error that says how to name a hook."""
            hook = self._prefix.removesuffix(".")
            if hook in HOOKS:
                return Decorator(hook)(*arguments, **keywords)
            raise TypeError(f"{self._path} is not a decorator: name a hook, as in @{self._path}.{_first(self)}")

    def __dir__(self) -> list[str]:
        """Return the names of the hooks, the groups and other functions."""
        start = self._prefix
        names = {name.removeprefix(start).partition(".")[0] for name in HOOKS if name.startswith(start)}
        return sorted(names | {name for name in vars(type(self)) if not name.startswith("_")})


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
    """Return the group of all hooks, with those groups that are more than names."""
    hooks: Any = Group("hook", "")
    hooks.job_submit = Group("hook.job_submit", "job_submit.")  # init and fini are called in a worker process
    hooks.spank = SpankHooks("hook.spank", "spank.")
    return hooks


hook: Hooks = _all_hooks()
"""The object that hook files import."""
