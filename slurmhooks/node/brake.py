# SPDX-License-Identifier: GPL-2.0-or-later
"""How many nodes health checks drain: so many for each check, and a multiple of that for all together.

One check that fails everywhere, or that a user makes fail, leaves room for the others. Only slurmctld knows what other
nodes are drained for: the reasons. Those of one check differ in numbers at most.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Drained = tuple[int, int, str, str | None]
    """When a node was drained, its index and its name, and its reason; None: that of any check."""

TOGETHER = 3
"""All checks together may drain so many times as many nodes as one of them."""
JOINT = "; "
"""Between the texts of several checks."""
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


class Brake:
    """The most nodes that one health check drains."""

    __slots__ = ("count", "percent")

    def __init__(self, count: int | None = None, percent: float | None = None) -> None:
        self.count = count
        self.percent = percent

    def __str__(self) -> str:
        """Return the limit as ``[node] at_most`` has it."""
        return f"{self.percent:g}%" if self.count is None else str(self.count)

    def most(self, nodes: int) -> int:
        """Return the number for a cluster of so many nodes: at least 1 of a share."""
        return self.count if self.count is not None else max(1, int(nodes * (self.percent or 0) / 100))

    @classmethod
    def of(cls, text: str) -> Brake:
        """Return the brake of a text such as "10" or "5%"."""
        return cls(percent=float(text[:-1])) if text.endswith("%") else cls(count=int(text))

    def has_room(self, name: str, texts: Sequence[str], nodes: int, drained: Iterable[Drained]) -> bool:
        """Tell whether a node may be drained, or is among the first that may.

        ``texts`` are those of the checks that refuse, ``nodes`` how many the cluster has. Of the drained nodes, this
        one counts those that were drained before it, all if it is not drained.
        """
        before = []
        for row in sorted(drained, key=lambda row: row[:2]):
            if row[2] == name:
                break
            before.append(row[3])
        most = self.most(nodes)
        if len(before) >= TOGETHER * most:
            return False
        kinds = [None if reason is None else {kind(part) for part in reason.split(JOINT)} for reason in before]
        return any(
            sum(others is None or not own.isdisjoint(others) for others in kinds) < most
            for own in ({kind(part) for part in text.split(JOINT)} for text in texts)
        )


def kind(text: str) -> str:
    """Return a text without its numbers and their units, in which the texts of one check may differ."""
    words: list[str] = []
    for word in text.split():
        if any(map(str.isdigit, word)):
            words.append("#")
        elif not (words and words[-1] == "#" and word.rstrip(",.;") in UNITS):
            words.append(word)
    return " ".join(words)
