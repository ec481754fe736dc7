# SPDX-License-Identifier: GPL-2.0-or-later
"""``hook``, which hook files import: it has a decorator for each hook."""

from __future__ import annotations

import sys

from slurmhooks.decorator import Decorator, collect, next_sequence, running_module
from slurmhooks.option import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, overload

    from typing_extensions import TypeVar

    from slurmhooks.decorator import Context, OnError
    from slurmhooks.option import Value

    Rating = TypeVar("Rating", bound="Callable[..., int | None]")


def _unknown(group: object, name: str, below: str) -> AttributeError:
    """Return an error that lists the existing hooks."""
    names = ", ".join(attribute for attribute in sorted(vars(group)) if not attribute.startswith("_"))
    return AttributeError(f"{below} has no {name!r}; it has: {names}")


class JobSubmitHook(Decorator):
    """``hook.job_submit``; ``init`` and ``fini`` are called at the start and the end of a worker process."""

    __slots__ = ("fini", "init")

    def __init__(self) -> None:
        """Create the three decorators."""
        super().__init__("job_submit")
        self.init = Decorator("job_submit.init")
        self.fini = Decorator("job_submit.fini")


class PriorityHook(Decorator):
    """``hook.priority``, whose handlers return a number, or None."""

    __slots__ = ()

    def __init__(self) -> None:
        """Create the decorator."""
        super().__init__("priority")

    if TYPE_CHECKING:

        @overload  # type: ignore[override] # other handlers return nothing
        def __call__(self, function: Rating, /) -> Rating: ...

        @overload
        def __call__(
            self, /, *, order: int = ..., on_error: OnError = ..., timeout: float = ...
        ) -> Callable[[Rating], Rating]: ...

        def __call__(self, function: Any = None, /, **keywords: Any) -> Any:
            """Mark a function as a handler and return it unchanged."""


class SpankHooks:
    """``hook.spank``: a decorator for each callback of spank(7), and options."""

    def __init__(self) -> None:
        """Create the decorators."""
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
            """Raise an error that lists the existing hooks."""
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


class CliFilterHooks:
    """``hook.cli_filter``: what sbatch, salloc, srun and scrontab call before and after a submission."""

    def __init__(self) -> None:
        """Make the decorators."""
        self.setup_defaults = Decorator("cli_filter.setup_defaults")
        self.pre_submit = Decorator("cli_filter.pre_submit")
        self.post_submit = Decorator("cli_filter.post_submit")

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Explain a hook that does not exist."""
            raise _unknown(self, name, "hook.cli_filter")


class ScrunHooks:
    """``hook.scrun``: the staging functions of scrun.lua(5)."""

    def __init__(self) -> None:
        """Create the decorators."""
        self.stage_in = Decorator("scrun.stage_in")
        self.stage_out = Decorator("scrun.stage_out")

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that lists the existing hooks."""
            raise _unknown(self, name, "hook.scrun")


class Hooks:
    """The type of ``hook``."""

    def __init__(self) -> None:
        """Create the decorators."""
        self.job_submit = JobSubmitHook()
        self.job_modify = Decorator("job_modify")
        self.job_start = Decorator("job_start")
        self.job_end = Decorator("job_end")
        self.priority = PriorityHook()
        self.controller_prolog = Decorator("controller_prolog")
        self.controller_epilog = Decorator("controller_epilog")
        self.spank = SpankHooks()
        self.cli_filter = CliFilterHooks()
        self.scrun = ScrunHooks()

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that lists the existing hooks."""
            raise _unknown(self, name, "hook")


hook = Hooks()
"""The object that hook files import."""
