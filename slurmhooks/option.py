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
        """Base class that makes Option generic for type checkers."""

else:
    Value, _Of = None, {None: object}  # at run time, without importing typing


class Option(_Of[Value]):
    """A command line option of srun, sbatch and salloc that a site adds.

    Attributes:
        name: without the dashes.
        arginfo: one word that names the argument in ``--help``; None for a flag, which takes no argument.
        usage: the help text.
        optional: the argument may be omitted.
        type: converts the text of the argument.
        contexts: the contexts in which the option exists.
        sequence: number in the order of definition.
        owner: name of the module that defined it, see slurmhooks.decorator.running_module.
        where: file and line, for messages.
        scripted: a Lua script defined it, see slurmhooks.lua.
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
        """Store the description; see the class."""
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
        """Return the option as a hook file spells it."""
        return f"hook.spank.option({self.name!r})"

    @property
    def value(self) -> Value | None:
        """The value that the user gave: None if the option was not given, True if it was given without an argument."""
        return self._value

    @property
    def given(self) -> bool:
        """Whether the user gave the option, on the command line or in its environment variable."""
        return self._given

    @property
    def has_arg(self) -> int:
        """``has_arg`` of ``struct spank_option``: 0 none, 1 required, 2 optional."""
        return 0 if self.arginfo is None else 2 if self.optional else 1

    @property
    def checked(self) -> bool:
        """Whether a value must be converted or checked before anything is submitted."""
        return bool(self._checks) or self.type is not str

    def check(self, function: Callable[[Value], Value]) -> Callable[[Value], Value]:
        """Decorate a function that checks the value; it returns the value to use.

        It runs in srun, sbatch and salloc before anything is submitted, as the user, and again in slurmstepd, as root.
        If it raises ``Reject`` or ``ValueError``, the command ends and the user sees the text of the exception.
        """
        self._checks.append(function)
        return function

    def convert(self, argument: str | None) -> Value:
        """Convert and check an argument. For the SPANK plugin.

        Args:
            argument: the text; None if the option was given without one. Slurm passes an omitted argument as an empty
                text or as "(null)", so that these texts count as omitted if the argument is optional.

        Raises:
            Exception: whatever the type or a check raises.
        """
        if self.arginfo is None or (self.optional and argument in ("", "(null)")):
            argument = None
        value: Any = True if argument is None else self.type(argument)
        result: Value = value
        for check in self._checks:
            result = check(result)
        return result

    def accept(self, value: Value) -> None:
        """Store a converted value. For the SPANK plugin."""
        self._value = value
        self._given = True

    def reset(self) -> None:
        """Reset the option, as if it had not been given. For the SPANK plugin and for tests."""
        self._value = None
        self._given = False
