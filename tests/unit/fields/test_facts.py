# SPDX-License-Identifier: GPL-2.0-or-later
"""A new row cannot be forgotten by those who need more of a field than its value."""

from pathlib import Path

import pytest

from slurmhooks.fields import TABLES, JobFields, RecordFields
from slurmhooks.fields.facts import NO_LUA, RW, InLua, R
from slurmhooks.fields.rows import Computed, Strings, Text, rows
from slurmhooks.fields.secrets import BESIDES, SECRETS

JOB = Path(__file__).parents[3] / "slurmhooks/fields/job.py"
LAST = "    sluid = Sluid("
"""Where a new row is written in job.py."""


def load(row: str) -> dict[str, object]:
    """Run fields/job.py with one more row, and return its names."""
    text = JOB.read_text()
    assert text.count(LAST) == 1
    names: dict[str, object] = {"__name__": "changed"}
    exec(compile(text.replace(LAST, f"    wait_hint = {row}\n{LAST}"), str(JOB), "exec"), names)
    return names


@pytest.mark.parametrize(
    ("row", "fact"),
    [
        ('Number(32, "How long.", unit="minutes", since="24.05")', "lua"),
        ('Text("A hint.")', "lua"),
        ('Text("A hint.", lua=NO_LUA)', "secret"),
        ('Gres("A hint.", lua=RW)', "secret"),
        ('Computed(str, "A hint.", lua=R)', "secret"),
    ],
)
def test_a_row_that_lacks_a_fact_does_not_load(row: str, fact: str) -> None:
    """A row that does not say what is asked for ends the import, and the error names row, fact and where to read."""
    with pytest.raises((TypeError, RuntimeError)) as caught:
        load(row)
    error = caught.value.__cause__ if isinstance(caught.value, RuntimeError) else caught.value
    assert str(error) == f"JobFields.wait_hint needs {fact}=: see Facts in slurmhooks/fields/facts.py"


@pytest.mark.parametrize("row", ['Number(32, "How long.", lua=NO_LUA)', 'Text("A hint.", lua=NO_LUA, secret=None)'])
def test_a_row_with_all_facts_loads(row: str) -> None:
    """A row that says all loads; without this, the test above would pass for any row."""
    assert "JobFields" in load(row)


def test_every_view_with_user_texts_asks_for_secrets() -> None:
    """Views of what users request ask whether a text is secret, and those that Lua has ask how."""
    asked = {name: getattr(view, "ASKED_FOR", ()) for name, view in TABLES.items()}
    assert asked == {
        "job": ("lua", "secret"),
        "record": ("lua", "secret"),
        "partition": ("lua",),
        "reservation": ("lua",),
        "node": (),
        "license": (),
        "qos": (),
        "association": (),
    }


def test_texts_hold_text() -> None:
    """Each kind of row whose value can be a text of the user counts as one."""
    every = [row for view in (JobFields, RecordFields) for row in rows(view).values()]
    assert {type(row).__name__ for row in every if row.holds_text} >= {"Text", "Lowered", "Tres", "Gres", "Strings"}
    assert [row.name for row in every if isinstance(row, (Text, Strings)) and not row.holds_text] == []
    assert [row.name for row in every if isinstance(row, Computed) and row.kind is str and not row.holds_text] == []


def test_secrets_have_one_name() -> None:
    """A field is secret under one name in requests and records."""
    names = [name for secret in SECRETS.values() for name in secret]
    assert len(names) == len(set(names))
    assert set(BESIDES) <= set(names)


@pytest.mark.parametrize(
    ("fact", "release", "reads", "writes"),
    [
        (NO_LUA, (26, 5), False, False),
        (R, (22, 5), True, False),
        (RW, (22, 5), True, True),
        (R.since("24.11"), (24, 5), False, False),
        (R.since("24.11"), (24, 11), True, False),
        (RW.since("26.05"), (26, 5), True, True),
        (InLua("23.02", ""), (22, 5), False, True),
        (NO_LUA.since("23.02"), (24, 11), False, False),
    ],
)
def test_releases_of_scripts(fact: InLua, release: tuple[int, int], reads: bool, writes: bool) -> None:
    """A script reads and writes a field from the release on that the row names."""
    assert (fact.reads(release), fact.writes(release)) == (reads, writes)
