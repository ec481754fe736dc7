# SPDX-License-Identifier: GPL-2.0-or-later
"""Dataclasses from JSON documents."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from slurmhooks.cli import documents, output


@dataclass
class Inner:
    """A part."""

    name: str
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass
class Outer:
    """A document."""

    at: datetime
    code: str | int | None
    inner: Inner | None = None
    rows: list[tuple[str, ...]] = field(default_factory=list)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3) | st.just("2026-01-02T03:04:05Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "changes", "x"]), inner),
    max_leaves=8,
)
KEYS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("at", "code", "inner", "rows", "unknown"), JSON)
) | st.fixed_dictionaries(
    {"at": st.just("2026-01-02T03:04:05Z"), "code": st.none() | st.text(max_size=3) | st.integers()},
    optional={"inner": JSON, "rows": st.lists(st.lists(st.text(max_size=2), max_size=2), max_size=2)},
)
STRICT = TypeAdapter(Outer)


@given(KEYS)
def test_it_agrees_with_pydantic(value: dict[str, Any]) -> None:
    """What pydantic accepts without conversions is built, and is equal to what pydantic makes of it."""
    try:
        expected = STRICT.validate_json(json.dumps(value), strict=True)
    except ValidationError:
        expected = None
    try:
        built = documents.build(Outer, value)
    except ValueError:
        assert expected is None
        return
    # pydantic takes no number as a time in strict mode, but slurmctld's supervisor sends one; True is an int in Python.
    if expected is not None:
        assert built == expected


@given(st.builds(Outer, st.datetimes(timezones=st.just(UTC)), st.none() | st.text() | st.integers()))
def test_documents_can_be_read_again(value: Outer) -> None:
    """A printed document is read as what it was made from."""
    assert documents.build(Outer, json.loads(output.as_json(value))) == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "must be dict"),
        ({"code": None}, "at"),
        ({"at": "yesterday", "code": None}, "yesterday"),
        ({"at": "2026-01-02T03:04:05", "code": None}, "time zone"),
        ({"at": 1e300, "code": None}, "at"),
        ({"at": 0, "code": []}, "code"),
        ({"at": 0, "code": 1, "inner": {"name": "a", "changes": {"b": [1]}}}, "inner"),
        ({"at": 0, "code": 1, "rows": [["a", 2]]}, "rows"),
    ],
)
def test_damaged_documents(value: Any, reason: str) -> None:
    """A damaged document is refused with the key that is wrong."""
    with pytest.raises(ValueError, match=reason):
        documents.build(Outer, value)
