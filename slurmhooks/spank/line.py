# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line of plugstack.conf has loaded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.option import Option
    from slurmhooks.registry import Registry


class Line:
    """A line of plugstack.conf. One library serves several lines, which are identified by their arguments.

    Attributes:
        args: the arguments for handlers.
        registry: the handlers and options.
    """

    __slots__ = ("_complete", "_names", "_registered", "args", "registry")

    def __init__(
        self, args: list[str], registry: Registry, names: list[str], complete: Callable[[], Registry] | None = None
    ) -> None:
        """Store what was loaded.

        Args:
            args: see the class.
            registry: see the class.
            names: names of the options in the manifest, for a line with Lua scripts; otherwise empty.
            complete: returns a registry that includes the options of scripts, if ``registry`` does not.
        """
        self.args = args
        self.registry = registry
        self._complete = complete
        self._names = names or [option.name for option in registry.options]
        self._registered: list[Option] = []

    def option(self, index: int, name: str | None) -> Option | None:
        """Return an option; None if its file could not be loaded in this process, or no longer defines it.

        Args:
            index: its number in C.
            name: its name, if C has registered the option from the manifest; otherwise None.
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
