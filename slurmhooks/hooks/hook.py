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

    from slurmhooks.hooks.decorators import Hooks  # written by tools/stubs.py


class Group:
    """The decorators below one name: one for each row of points.HOOKS that continues the name by one word.

    Attributes:
        _path: the name as a hook file spells it.
    """

    def __init__(self, path: str) -> None:
        """Start empty; :func:`_all_hooks` adds the decorators."""
        self._path = path

    def __getattr__(self, name: str) -> Decorator:
        """Raise an error that lists the existing hooks."""
        names = ", ".join(attribute for attribute in sorted(vars(self)) if not attribute.startswith("_"))
        raise AttributeError(f"{self._path} has no {name!r}; it has: {names}")


class JobSubmitHook(Group, Decorator):
    """``hook.job_submit``; ``init`` and ``fini`` are called at the start and the end of a worker process."""

    def __init__(self, hook: str) -> None:
        """Initialize both base classes."""
        Decorator.__init__(self, hook)
        Group.__init__(self, repr(self))


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


def _all_hooks() -> Any:
    """Return the decorators and their groups."""
    hooks: Any = Group("hook")
    hooks.job_submit = JobSubmitHook("job_submit")
    hooks.spank = SpankHooks("hook.spank")
    hooks.cli_filter = Group("hook.cli_filter")
    hooks.scrun = Group("hook.scrun")
    hooks.power = Group("hook.power")
    hooks.node = Group("hook.node")
    groups = {"": hooks, **vars(hooks)}
    for name in HOOKS:
        group, _, word = name.rpartition(".")
        if name not in groups:
            setattr(groups[group], word, Decorator(name))
    return hooks


hook: Hooks = _all_hooks()
"""The object that hook files import."""
