# SPDX-License-Identifier: GPL-2.0-or-later
import json

import pytest

from tests.bench import rows


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
    """A row holds up to its limit and at it; one that could not be measured never does."""
    assert rows.Row("group", "what", limit, "x", value, at_least).verdict == verdict


def test_spread() -> None:
    """The bounds leave out the tenth at either end."""
    assert rows.spread(range(11)) == rows.Spread(5, 1, 9, 11)


def test_the_same_row_in_each_form() -> None:
    """People, the documentation and programs read the same value and verdict."""
    row = rows.Row("group", "what", 0.5, "ms", 0.25, parts={"part": rows.spread([1, 2, 3])}, note="how")
    text = rows.as_text([row])
    assert "at most 0.500 ms" in text
    assert "0.250 ms  pass" in text
    assert "2.00 (1.00 to 3.00, n=3)" in text
    assert "| what | 0.500 ms | 0.250 ms | pass |" in rows.as_markdown("24.11", [row])
    read = json.loads(rows.as_json({"processors": "2"}, {"24.11": [row]}))
    assert read["tables"]["24.11"][0]["verdict"] == "pass"
    assert read["tables"]["24.11"][0]["parts"]["part"]["median"] == 2
