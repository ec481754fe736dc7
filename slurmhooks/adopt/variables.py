# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variables outlive a call of Slurm, and which ones a block assigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.adopt.definitions import static_key
from slurmhooks.adopt.tree import Assign, Expr, Index, Name, statements

if TYPE_CHECKING:
    from slurmhooks.adopt.tree import Stmt
    from slurmhooks.adopt.values import State


def root_of(target: Expr) -> Name | None:
    """Return the variable at the start of ``variable.key.key``; None if another expression is there."""
    while isinstance(target, Index):
        target = target.of
    return target if isinstance(target, Name) else None


def outlives(target: Expr, state: State) -> bool:
    """Tell whether what is assigned to a target outlives the call."""
    root = root_of(target)
    if root is None:
        return False
    if root.variable is None:
        return isinstance(target, Name) or root.name not in state.assigned
    return root.variable.function is None


def assigned_in(body: list[Stmt]) -> set[str]:
    """Return the keys of variables that a loop assigns: what was known of them may not hold in its next round."""
    return {
        key
        for statement in statements(body)
        if isinstance(statement, Assign)
        for target in statement.targets
        if isinstance(target, Name) and (key := static_key(target))
    }
