# SPDX-License-Identifier: GPL-2.0-or-later
"""What the parts of the analysis need of each other: the interface of slurmhooks.adopt.flow.Flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from slurmhooks.adopt.definitions import Definitions
    from slurmhooks.adopt.tree import Expr, Function
    from slurmhooks.adopt.values import Remark, Running, Settings, State, Summary, Value
    from slurmhooks.lua.source import Use

    Arguments = list[tuple[Expr, Value]]
    """The arguments of a call, with what is known of them."""


class Following(Protocol):
    """The values of a script, while its functions are followed.

    Attributes:
        settings: for which Slurm and Lua.
        script: what the script defines.
        family: what it is for.
        running: the function that is being followed.
        loading: the main chunk is being followed.
        in_call: the function runs in a call of Slurm.
        in_modify: it runs only in updates.
        ended: functions that never return.
        uses: what the script uses.
        undefined: global variables that nothing defines, with a line.
        early_reads: global variables that are read before the call has assigned them, with a line.
        nil_checks: fields with numbers that are compared with nil, with a line.
        unset_checks: fields with numbers that are compared with NO_VAL.
        tested: variables whose existence the script tests.
        mixed: parameters that stand for several values that may be nil.
    """

    settings: Settings
    script: Definitions
    family: str
    running: Running
    loading: bool
    in_call: bool
    in_modify: bool
    ended: set[Function]
    uses: dict[Use, None]
    undefined: dict[str, int]
    early_reads: dict[str, int]
    nil_checks: dict[str, int]
    unset_checks: set[str]
    tested: set[str]
    mixed: set[str]

    def remark(self, remark: Remark, /) -> None:
        """Report something."""

    def value(self, expression: Expr, state: State, *, index: bool = False) -> Value:
        """Return what is known of an expression, and report what is dangerous in it."""

    def peek(self, expression: Expr, state: State, /) -> Value:
        """Return what is known of an expression without reporting anything."""

    def key(self, expression: Expr, state: State, /) -> str:
        """Return the key of an expression; empty if it has none."""

    def need(self, expression: Expr, value: Value, state: State, how: str, /) -> None:
        """Report a value that may be nil where nil is an error."""

    def is_known(self, expression: Expr, value: Value, state: State, /) -> bool:
        """Tell whether an expression is known not to be nil."""

    def anywhere(self, key: str, /) -> Value:
        """Return what is known of a variable of another function."""

    def site(self, function: Function, values: list[Value], state: State, /) -> None:
        """Note a call of a function of the script."""

    def summary(self, function: Function, /) -> Summary:
        """Return what a call of a function of the script does."""

    def shown(self, key: str, /) -> str:
        """Return a key as a script would write it."""

    def start_of(self, expression: Expr, /) -> str:
        """Return the constant text with which a text begins, such as a command."""
