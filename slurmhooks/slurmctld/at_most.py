# SPDX-License-Identifier: GPL-2.0-or-later
"""How many actions a run of a periodic handler may take: neither a wrong rule nor one user decides for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.slurmctld.action import Action


class Left(NamedTuple):
    """Actions of a run that are not taken, because there are too many for one user or node.

    Attributes:
        actions: all those for the user or node.
        text: says so.
    """

    actions: list[Action]
    text: str


def stops(actions: Iterable[Action], most: int) -> str | None:
    """Return why a run takes none of its actions: it would act on jobs of too many users, or on too many nodes."""
    owners = _by_owner(actions)
    for kind in ("user", "node"):
        count = sum(owner[0] == kind for owner in owners)
        if count > most:
            return f"actions on {'jobs of ' if kind == 'user' else ''}{count} {kind}s, and at_most={most}"
    return None


def limited(actions: list[Action], most: int) -> tuple[list[Action], list[Left]]:
    """Return the actions that are taken, in order, and those that are not."""
    left = [
        Left(group, f"{len(group)} actions on {'jobs of ' if kind == 'user' else ''}{kind} {name}, and at_most={most}")
        for (kind, name), group in _by_owner(actions).items()
        if len(group) > most
    ]
    dropped = {id(action) for each in left for action in each.actions}
    return [action for action in actions if id(action) not in dropped], left


def _by_owner(actions: Iterable[Action]) -> dict[tuple[str, object], list[Action]]:
    """Return actions by whom they concern: the user of a job, or a node."""
    groups: dict[tuple[str, object], list[Action]] = {}
    for action in actions:
        owner = ("node", action.target) if action.job_id is None else ("user", action.about["user_id"])
        groups.setdefault(owner, []).append(action)
    return groups
