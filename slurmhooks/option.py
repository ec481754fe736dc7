# SPDX-License-Identifier: GPL-2.0-or-later
"""Command line options that a site adds to srun, sbatch and salloc."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Generic

    from typing_extensions import TypeVar

    Value = TypeVar("Value", default=Any)

    class _Of(Generic[Value]):
        """Makes a class generic."""

else:
    Value, _Of = None, {None: object}  # the same without importing typing


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
