# SPDX-License-Identifier: GPL-2.0-or-later
"""The terms of a health check: its mode, its nodes, how often it runs, and how often it must fail before a drain."""

from __future__ import annotations

from slurmhooks.hooks.node_lists import NodeList
from slurmhooks.hooks.rollout import ENFORCE, MODES

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST = 30 * 86400
"""Seconds between two runs."""
MOST_FAILS = 1000
KEYS = ("mode", "every", "fails", "nodes")
"""The arguments of a decorator that are terms."""
DIGITS = 20
"""A duration has fewer: Python refuses to convert very long numbers."""


class Terms:
    """How a health check counts.

    Attributes:
        mode: "enforce": the node is drained; "warn": slurmd's log has the reason whenever the check runs; "observe": it
            has it when the check begins to fail; "off": the check does not run.
        every: least seconds between two runs of the check; 0: whenever slurmd runs the program. As a text, a number
            with its unit, such as "30s", "10m", "6h" or "1d".
        fails: how often in sequence it must refuse before the node is drained.
        nodes: the nodes that it is for, a list such as "gpu[01-16],viz*", in which ``*`` stands for any characters;
            None: all.
    """

    __slots__ = KEYS

    def __init__(
        self, *, mode: str = ENFORCE, every: float | str = 0, fails: int = 1, nodes: str | None = None
    ) -> None:
        self.mode = mode
        self.every: object = seconds(every)
        self.fails = fails
        self.nodes = nodes

    def concern(self, node: str) -> bool:
        """Tell whether the check is for a node."""
        return self.nodes is None or NodeList(self.nodes).has(node)

    @property
    def pause(self) -> float:
        """The least number of seconds between two runs."""
        assert isinstance(self.every, int | float)
        return self.every

    def faults(self) -> list[str]:
        """Return descriptions of invalid values."""
        faults = []
        if self.mode not in MODES:
            faults.append(f"mode takes {', '.join(map(repr, MODES))}, not {self.mode!r}")
        every = self.every
        if isinstance(every, bool) or not isinstance(every, int | float) or not 0 <= every <= LONGEST:
            faults.append(f'every takes seconds or a text such as "10m", at most 30 days; not {every!r}')
        if type(self.fails) is not int or not 1 <= self.fails <= MOST_FAILS:
            faults.append(f"fails takes a number from 1 to {MOST_FAILS}, not {self.fails!r}")
        if self.nodes is not None and not _is_list(self.nodes):
            faults.append(f'nodes takes a list of nodes such as "gpu[01-16],viz*", not {self.nodes!r}')
        return faults


def seconds(value: object) -> object:
    """Convert a duration such as "10m" to seconds; other values stay what they are, for :meth:`Terms.faults`."""
    if isinstance(value, str) and value[:-1].isdecimal() and value[-1] in _UNITS and len(value) < DIGITS:
        return int(value[:-1]) * _UNITS[value[-1]]
    return value


def _is_list(nodes: object) -> bool:
    try:
        return isinstance(nodes, str) and bool(NodeList(nodes))
    except ValueError:
        return False
