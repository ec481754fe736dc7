# SPDX-License-Identifier: GPL-2.0-or-later
import json
from collections import Counter
from typing import Any

import pytest

from docs import tables
from tests.bench import rows
from tests.bench.machine import Machine


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "verdict"),
    [
        (0.15, 0.15, False, "pass"),
        (0.16, 0.15, False, "falls short"),
        (0.98, 0.97, True, "pass"),
        (0.96, 0.97, True, "falls short"),
        (None, 1.0, False, "NOT MEASURED"),
        (5.0, None, False, ""),
    ],
)
def test_verdict(value: float | None, limit: float | None, at_least: bool, verdict: str) -> None:
    """A row passes below its limit and at it; a row that could not be measured never passes."""
    assert rows.Row("group", "what", limit, "x", value, at_least).verdict == verdict


def test_spread() -> None:
    """The bounds leave out the tenth of the values at either end."""
    assert rows.spread(range(11)) == rows.Spread(5, 1, 9, 11)


def test_the_same_row_in_each_form() -> None:
    """People and programs read the same value and verdict."""
    row = rows.Row("group", "what", 0.5, "ms", 0.25, parts={"part": rows.spread([1, 2, 3])}, note="how")
    text = rows.as_text([row])
    assert "at most 0.500 ms" in text
    assert "0.250 ms  pass" in text
    assert "2.00 (1.00 to 3.00, n=3)" in text
    (read,) = json.loads(rows.as_json("2026-11-22", {"processors": "2"}, {"24.11": [row]}))["rows"]
    assert (read["release"], read["verdict"], read["parts"]["part"]["median"]) == ("24.11", "pass", 2)


def test_tables_are_up_to_date() -> None:
    """The tables of the documentation are those that docs/tables.py writes from docs/figures.json."""
    known = tables.read()["rows"]
    pages = {path: path.read_text() for path in tables.pages()}
    assert any(tables.TABLE.search(text) for text in pages.values())
    for path, text in pages.items():
        assert tables.fill(text, known) == text, f"{path}: run docs/tables.py"


def test_all_kept_figures_are_shown() -> None:
    """Each group that docs/figures.json has is in a table, and each row and run there once."""
    shown = {
        group
        for path in tables.pages()
        for _, groups, _, _ in tables.TABLE.findall(path.read_text())
        for group in groups.split()
    }
    kept = tables.read()
    assert {row["group"] for row in kept["rows"]} == shown
    names = [(row["group"], row["what"], tables.column(row)) for row in kept["rows"]]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert {row["run"] for row in kept["rows"]} == set(kept["runs"])
    assert tables.FIGURES.read_text() == tables.text_of(kept)


def test_a_table() -> None:
    """A run of the bench becomes a table: a column for each release; the newest run counts.

    Exceeded limits are bold.
    """
    old = rows.Row("group", "what", 0.5, "ms", 0.25)
    new = rows.Row("group", "what", 0.5, "ms", 0.7501)
    figures: dict[str, Any] = {"runs": {}, "rows": []}
    tables.add(figures, "old", json.loads(rows.as_json("2026-11-21", {}, {"22.05": [old], "24.11": [old]})))
    tables.add(figures, "new", json.loads(rows.as_json("2026-11-22", {}, {"24.11": [new]})))
    page = "before\n<!-- figures: group -->\nold\n<!-- end of figures -->\nafter\n"

    filled = tables.fill(page, figures["rows"])

    table = "| what | limit | 22.05 | 24.11 |\n| --- | --- | --- | --- |\n| what | ≤ 0.5 ms | 0.25 | **0.75** |\n"
    assert filled == page.replace("old\n", table)


def test_several_runs() -> None:
    """Several runs are shown as their range, which is bold if any of them exceeds the limit."""
    row = {"release": None, "limit": 1.15, "at_least": False, "unit": "x", "value": [1.16, 1.12]}
    assert tables.figure(row, units=False) == "**1.12 to 1.16**"
    assert tables.figure({**row, "limit": 1, "at_least": True}, units=True) == "1.12 to 1.16 x"


def test_a_bench_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first verb discards what a killed bench has left in slurm.conf, before slurmctld reads it."""
    verbs: list[tuple[str, ...]] = []
    monkeypatch.setattr(Machine, "lab", lambda _self, *words, **_more: verbs.append(words))
    Machine("24.11", None)
    assert verbs[0][0] == "up"
    assert "--fresh" in verbs[0]
