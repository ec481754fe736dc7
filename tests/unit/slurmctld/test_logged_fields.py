# SPDX-License-Identifier: GPL-2.0-or-later
"""How the collector shows what workers report."""

import json
from contextlib import suppress
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmhooks.collector import json_lines
from slurmhooks.collector.checked import Decision
from slurmhooks.fields import TABLES
from slurmhooks.fields.rows import Text, rows
from slurmhooks.slurmctld.logged_fields import LONGEST_TEXT, NOT_SENT, LoggedFields, plain
from slurmhooks.workshop.testing.tables import tables_of

RELEASES = ("22.05", "24.11", "26.05")
SHOWN = LoggedFields(tables_of("24.11"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
TEXTS = [
    row
    for row in rows(TABLES["job"]).values()
    if isinstance(row, Text) and row.writable and SHOWN.names.get(row.name) == (row.name,)
]
members = st.sampled_from([*SHOWN.names, "account", "no member"])


def report(hook: str = "job_submit", raw: Any = None, job: Any = None, record: Any = None) -> Decision:
    """Return what a worker reports about a request with one handler."""
    steps: Any = [("limits:account", "passed", 1, raw, {})]
    return Decision("0123456789ab", 1.5, hook, job, record, {}, None, "accepted", {}, steps, 1, 1, "abc")


@pytest.mark.slow
@settings(deadline=None)
@given(
    raw=st.lists(st.tuples(members, values, values), max_size=4).map(lambda changes: [*chain(*changes)]) | values,
    job=st.lists(values, min_size=6, max_size=6) | values,
    record=st.lists(values, min_size=6, max_size=6) | values,
)
def test_a_hostile_worker_ends_nothing(raw: Any, job: Any, record: Any) -> None:
    """Whatever is reported as values either raises an exception, which the collector counts, or is a line of JSON."""
    with suppress(AttributeError, AssertionError, IndexError, KeyError, TypeError, ValueError):
        json.dumps(SHOWN.complete(report(raw=raw, job=job, record=record)))


@pytest.mark.parametrize("release", RELEASES)
def test_an_update_is_about_the_job_that_it_changes(release: str) -> None:
    """The record comes before the request; what it lacks, the request may have."""
    record = {"user_id": 1001, "account": "physics", "name": ""}
    job = {"user_id": 0, "partition": "Debug", "account": "x", "job_id_str": "17_4"}
    shown = LoggedFields(tables_of(release))
    about: dict[str, Any] = {
        table: [values.get(name) for name, _ in shown._about[table]]
        for table, values in {"record": record, "job": job}.items()
    }
    found = shown.complete(report("job_modify", **about))
    assert {name: found.get(name) for name in ("user_id", "account", "name", "partition", "job_id")} == {
        "user_id": 1001,
        "account": "physics",
        "name": "",
        "partition": "Debug",
        "job_id": 17,
    }


def test_texts() -> None:
    """Texts are what handlers see; long ones stay as they were cut, and missing ones are named."""
    raw = ["comment", "\xe4\udc9b", False, "name", ["x [... 9 bytes left out]"], "y", "account", "A", "a"]
    (step,) = SHOWN.complete(report(raw=raw))["handlers"]
    assert step["changes"] == {"comment": ["\xe4\\x9b", NOT_SENT], "name": ["x [... 9 bytes left out]", "y"]}


texts = st.binary(max_size=3 * LONGEST_TEXT) | st.from_regex(rb"[ -~]{0,2000}", fullmatch=True)


@given(texts.filter(lambda raw: b"\0" not in raw), st.sampled_from(TEXTS))
def test_a_report_is_short_and_loses_nothing(raw: bytes, row: Text) -> None:
    """Any text that a handler writes can be reported in JSON, of limited length, and is shown as without a report."""
    data = json_lines.encode({"value": SHOWN.cut(row.name, raw) if len(raw) > LONGEST_TEXT else raw})
    assert len(data) <= 7 * LONGEST_TEXT
    (step,) = SHOWN.complete(report(raw=[row.name, None, json_lines.decode(data)["value"]]))["handlers"]
    seen = plain(row.decoder()(raw))
    assert step.get("changes") == ({row.name: [None, seen]} if seen else None)
