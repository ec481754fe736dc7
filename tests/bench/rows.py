# SPDX-License-Identifier: GPL-2.0-or-later
"""One row of the table: what was measured, its limit, and the figure."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

PASS, SHORT, MISSING = "pass", "falls short", "NOT MEASURED"


@dataclass(frozen=True)
class Spread:
    """Several measurements of one quantity."""

    median: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        """Return median and spread as text."""
        return f"{number(self.median)} ({number(self.low)} to {number(self.high)}, n={self.count})"


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        group: the module that measured it.
        what: what was measured, in words.
        limit: of `value`; None for a row that only informs.
        unit: of `value` and `limit`; "x" for a ratio.
        value: the figure; None if it could not be measured.
        at_least: `limit` is a lower limit.
        parts: the measurements that `value` was calculated from, by name.
        note: how it was measured, or why not.
    """

    group: str
    what: str
    limit: float | None
    unit: str
    value: float | None
    at_least: bool = False
    parts: dict[str, Spread] = field(default_factory=dict)
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the figure is within its limit."""
        if self.value is None:
            return MISSING
        if self.limit is None:
            return ""
        holds = self.value >= self.limit if self.at_least else self.value <= self.limit
        return PASS if holds else SHORT


def spread(values: Sequence[float]) -> Spread:
    """Return the median, and the bounds that contain eight of ten values."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return Spread(statistics.median(ordered), ordered[round(last * 0.1)], ordered[round(last * 0.9)], len(ordered))


def number(value: float) -> str:
    """Return a number with three significant digits."""
    if value and abs(value) < 100:
        return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    return f"{value:,.0f}"


def as_text(rows: Iterable[Row], details: bool = True) -> str:
    """Return a table for a terminal."""
    lines = []
    for row in rows:
        bound = (
            "" if row.limit is None else f"{'at least' if row.at_least else 'at most'} {number(row.limit)} {row.unit}"
        )
        value = "-" if row.value is None else f"{number(row.value)} {row.unit}"
        lines.append(f"{row.what:<76} {bound:>20} {value:>12}  {row.verdict}")
        if details:
            lines += [f"    {name:<24} {part}" for name, part in row.parts.items()]
        if row.note:
            lines.append(f"    {row.note}")
    return "\n".join(lines)


def as_json(date: str, machine: dict[str, str], tables: dict[str | None, list[Row]]) -> str:
    """Return a run in the format of docs/tables.py; `tables` has the rows by release (None: rows without Slurm)."""
    rows = [
        {"release": release, **asdict(row), "verdict": row.verdict} for release, rows in tables.items() for row in rows
    ]
    return json.dumps({"date": date, "machine": machine, "rows": rows}, indent=1, ensure_ascii=False) + "\n"
