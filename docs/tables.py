#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the tables of measured figures into the pages, from figures.json.

Usage: docs/tables.py [RUN...]

RUN is a file that `tests/cluster/bench --json RUN` has written: its rows first replace those of the same names.

A table stands between two comments, `<!-- figures: GROUP... -->` and `<!-- end of figures -->`, and shows the rows of
these groups in the order of the file. Figures that exceed their limit are bold.

figures.json has these members; RUN has those of one run, and in its rows more than is kept, such as `parts`:
    runs: by names, which begin with their dates. Each has
        origin: where the figures come from, if not from one run of tests/cluster/bench.
        machine: text by name, such as the processor's.
    rows: each with
        run: its name.
        group, what: identify the row.
        release: of Slurm, the column of the table; none if Slurm has no part in it.
        case: the column, for tables that do not compare releases. Optional.
        limit, at_least, unit: `value` may be `limit` at most, or at least; of the newest run in any column.
        value: the figure, or the list of the figures of several runs; none if it was not measured.
        note: how it was measured, or why not.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
FIGURES = DOCS / "figures.json"
KEYS = ("group", "what", "release", "case", "limit", "at_least", "unit", "value", "note")
"""What is kept of a row."""
TABLE = re.compile(r"(<!-- figures: ([\w -]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)

Row = dict[str, Any]


def pages() -> Iterator[Path]:
    """Yield the pages that may have tables."""
    yield from DOCS.glob("*.md")
    yield from DOCS.glob("decisions/*.md")


def read() -> dict[str, Any]:
    """Return the figures that are kept."""
    figures: dict[str, Any] = json.loads(FIGURES.read_text())
    return figures


def add(figures: dict[str, Any], name: str, run: dict[str, Any]) -> None:
    """Put the rows of a run in the place of those that they replace; new ones come after those of their group."""
    rows: list[Row] = figures["rows"]
    figures["runs"][name] = {key: run[key] for key in ("origin", "machine") if key in run}
    for given in run["rows"]:
        row = {key: given[key] for key in KEYS if given.get(key) not in (None, "") and given[key] is not False}
        same = [each for each in rows if (each["group"], each["what"]) == (row["group"], row["what"])]
        for each in same:
            each.pop("limit", None)
            each.update({"limit": row["limit"]} if "limit" in row else {})
        present = [at for at, each in enumerate(rows) if each in same and column(each) == column(row)]
        last = max((at for at, each in enumerate(rows) if each["group"] == row["group"]), default=len(rows) - 1)
        if present:
            rows[present[0]] = {"run": name, **row}
        else:
            rows.insert(last + 1, {"run": name, **row})
    figures["runs"] = {key: value for key, value in figures["runs"].items() if key in {row["run"] for row in rows}}


def text_of(figures: dict[str, Any]) -> str:
    """Return the file, with a line for each run and row."""
    runs = ",\n".join(f"  {_json(name)}: {_json(run)}" for name, run in sorted(figures["runs"].items()))
    rows = ",\n".join(f"  {_json(row)}" for row in figures["rows"])
    return f'{{\n "runs": {{\n{runs}\n }},\n "rows": [\n{rows}\n ]\n}}\n'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


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
        raise ValueError(f"docs/figures.json has no rows of {' '.join(groups)}")
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
    return row.get("case") or row.get("release") or "measured"


def bound(row: Row) -> str:
    """Return the limit of a row with its unit, or the unit alone."""
    if row.get("limit") is None:
        return f"({row.get('unit', '')})"
    return f"{'≥' if row.get('at_least') else '≤'} {number(row['limit'])} {row.get('unit', '')}".rstrip()


def figure(row: Row, units: bool) -> str:
    """Return the measured figures; bold if one of them exceeds the limit."""
    value, limit = row.get("value"), row.get("limit")
    if value is None:
        return ""
    values = sorted(value if isinstance(value, list) else [value])
    text = " to ".join(dict.fromkeys([number(values[0]), number(values[-1])]))
    if units:
        text = f"{text} {row.get('unit', '')}".rstrip()
    if limit is not None and (values[0] < limit if row.get("at_least") else values[-1] > limit):
        text = f"**{text}**"
    return text


def number(value: float) -> str:
    """Return a number with three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main() -> None:
    """Add the runs, and rewrite the pages."""
    figures = read()
    for path in map(Path, sys.argv[1:]):
        run = json.loads(path.read_text())
        add(figures, f"{run['date']} {path.stem}", run)
    FIGURES.write_text(text_of(figures))
    for page in pages():
        text = page.read_text()
        filled = fill(text, figures["rows"])
        if filled != text:
            page.write_text(filled)


if __name__ == "__main__":
    main()
