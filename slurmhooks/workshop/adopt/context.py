# SPDX-License-Identifier: GPL-2.0-or-later
"""What the parts of the analysis need of each other: the interface of Flow, which explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.workshop.adopt.definitions import Definitions
    from slurmhooks.workshop.adopt.tree import Expr, Function
    from slurmhooks.workshop.adopt.values import Remark, Settings, Use, Value

    Arguments = Sequence[tuple[Expr, Value]]
    """The arguments of a call, with what is known of them."""


class Following(Protocol):
    """The values of a script."""

    settings: Settings
    script: Definitions
    family: str
    in_call: bool
    uses: dict[Use, None]
    clean: set[str]

    def remark(self, remark: Remark, /) -> None:
        """Report something."""

    def value(self, expression: Expr, *, index: bool = False) -> Value:
        """Return what is known of an expression."""

    def key(self, expression: Expr, /) -> str:
        """Return the key of a variable or member; empty if it has none."""

    def learn(self, key: str, value: Value, /) -> None:
        """Note that a variable or member may have a value."""

    def called(self, function: Function, values: Sequence[Value], /) -> Value:
        """Note a call of a function of the script; return its result."""

    def called_unknown(self, arguments: Arguments, /) -> None:
        """Note a call of something that is not known."""
