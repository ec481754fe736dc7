# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line of plugstack.conf has loaded."""

from __future__ import annotations

from slurmhooks.hooks.points import JOB_CALLBACKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.hooks.option import Option
    from slurmhooks.spank.calls import Calls
    from slurmhooks.spank.state import LineState, State


class Line:
    """A line of plugstack.conf. One library serves several lines, which are identified by their arguments.

    Attributes:
        args: the arguments for handlers.
        registry: the handlers and options.
        words: all arguments of the line.
    """

    __slots__ = ("_complete", "_names", "_registered", "_state", "args", "registry", "words")

    def __init__(
        self, args: list[str], registry: Registry, names: list[str], complete: Callable[[], Registry] | None = None
    ) -> None:
        """Store what was loaded.

        ``names`` are those of the options in the manifest, for a line with Lua scripts. ``complete`` returns a registry
        that includes the options of scripts, if ``registry`` does not.
        """
        self.args = args
        self.registry = registry
        self._complete = complete
        self._names = names or [option.name for option in registry.options]
        self._registered: list[Option] = []
        self.words: tuple[str, ...] = ()
        self._state: LineState | None = None
        for option in registry.options:
            option.reset()  # so that they can be read

    def state(self) -> LineState:
        """Return the state of the job. Most launches do not need it."""
        if self._state is None:
            from slurmhooks.spank.state import LineState

            self._state = LineState(self.words, self.registry)
        return self._state

    def state_of(self, calls: Calls) -> State:
        """Return the state for one callback."""
        return self.state().of(calls)

    def keeps_state(self) -> bool:
        """Tell whether the handlers may have a state: those of prolog and epilog are needed for it."""
        return all(self.registry.handlers(f"spank.{name}") for name in JOB_CALLBACKS)

    def option(self, index: int, name: str | None) -> Option | None:
        """Return an option; None if its file could not be loaded in this process, or no longer defines it.

        ``index`` is its number in C; ``name`` is set if C has registered the option from the manifest.
        """
        if self._complete is not None:
            self.registry = self._complete()
            self._complete = None
        if name is None and index >= len(self._names):
            return self._registered[index - len(self._names)]
        if name is None:
            name = self._names[index]
        same = self.registry.options[index : index + 1]
        return next((option for option in (*same, *self.registry.options) if option.name == name), None)

    def names(self) -> list[str]:
        """Return the names of all options of the line, of whatever context."""
        return [*self._names, *(option.name for option in self._registered)]

    def add(self, option: Option) -> int:
        """Add an option that a running script registers; return its number in C."""
        self._registered.append(option)
        return len(self._names) + len(self._registered) - 1
