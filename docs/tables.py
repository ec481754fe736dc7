#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the tables of measured figures into the pages, from the JSON files in figures/.

Usage: docs/tables.py

A table stands between two comments, `<!-- figures: GROUP... -->` and `<!-- end of figures -->`, and shows the rows of
these groups. If several files have the same row, the newest counts. Figures that exceed their limit are bold.

A file has these members; `tests/cluster/bench --json FILE` writes one for each run:
    date: YYYY-MM-DD, of the run.
    origin: where the figures come from, if not from one run of tests/cluster/bench.
    machine: text by name, such as the processor's.
    rows: each with
        group, what: identify the row.
        release: of Slurm, the column of the table; null if Slurm has no part in it.
        case: the column, for tables that do not compare releases. Optional.
        limit, at_least, unit: `value` may be `limit` at most, or at least.
        value: the figure, or the list of the figures of several runs; null if it was not measured.
        parts: what `value` was calculated from.
        note: how it was measured, or why not.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
TABLE = re.compile(r"(<!-- figures: ([\w -]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)

Row = dict[str, Any]


def pages() -> Iterator[Path]:
    """Yield the pages that may have tables."""
    yield from DOCS.glob("*.md")
    yield from DOCS.glob("decisions/*.md")


def read(folder: Path = DOCS / "figures") -> list[Row]:
    """Return the rows of all files, each once: the newest, with the limit of the newest in any column."""
    runs = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    # On the same date, a run counts as newer than figures that were copied from elsewhere.
    runs.sort(key=lambda run: (run["date"], "origin" not in run))
    rows = {(row["group"], row["what"], column(row)): row for run in runs for row in run["rows"]}
    newest = {(row["group"], row["what"]): row.get("limit") for run in runs for row in run["rows"]}
    return [{**row, "limit": newest[row["group"], row["what"]]} for row in rows.values()]


def fill(text: str, rows: Sequence[Row]) -> str:
    """Return a page with its tables.

    Raises:
        ValueError: a table has no rows.
    """
    return TABLE.sub(lambda match: match[1] + table(match[2].split(), rows) + match[4], text)


def table(groups: Sequence[str], rows: Iterable[Row]) -> str:
    """Return the table of some groups, in their order."""
    chosen = [row for group in groups for row in rows if row["group"] == group]
    if not chosen:
        raise ValueError(f"no file in docs/figures has rows of {' '.join(groups)}")
    columns = list(dict.fromkeys(column(row) for row in chosen))
    limits = any(row.get("limit") is not None for row in chosen)
    lines = [["what", *(["limit"] if limits else []), *columns]]
    lines.append(["---"] * len(lines[0]))
    for what in dict.fromkeys(row["what"] for row in chosen):
        cells = {column(row): row for row in chosen if row["what"] == what}
        first = next(iter(cells.values()))
        lines.append([
            what,
            *([bound(first)] if limits else []),
            *(figure(cells[name], units=not limits) if name in cells else "" for name in columns),
        ])  # fmt: skip
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def column(row: Row) -> str:
    """Return the title of a row's column."""
    return row.get("case") or row["release"] or "measured"


def bound(row: Row) -> str:
    """Return the limit of a row with its unit, or the unit alone."""
    if row.get("limit") is None:
        return f"({row['unit']})"
    return f"{'≥' if row.get('at_least') else '≤'} {number(row['limit'])} {row['unit']}".rstrip()


def figure(row: Row, units: bool) -> str:
    """Return the measured figures; bold if one of them exceeds the limit."""
    value, limit = row["value"], row.get("limit")
    if value is None:
        return ""
    values = sorted(value if isinstance(value, list) else [value])
    text = " to ".join(dict.fromkeys([number(values[0]), number(values[-1])]))
    if units:
        text = f"{text} {row['unit']}".rstrip()
    if limit is not None and (values[0] < limit if row.get("at_least") else values[-1] > limit):
        text = f"**{text}**"
    return text


def number(value: float) -> str:
    """Return a number with three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main() -> None:
    """Rewrite the pages."""
    rows = read()
    for page in pages():
        text = page.read_text()
        filled = fill(text, rows)
        if filled != text:
            page.write_text(filled)


if __name__ == "__main__":
    main()
