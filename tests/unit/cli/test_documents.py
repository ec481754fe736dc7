# SPDX-License-Identifier: GPL-2.0-or-later
"""Dataclasses from JSON documents."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from slurmhooks.cli import documents, output

pytestmark = pytest.mark.slow


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


TIMES = st.sampled_from(
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.25+01:00", "2026-01-02T03:04:05", "2026-01-02", "yesterday", "7", ""]
)
NUMBERS = st.integers(-5, 5) | st.sampled_from([0.0, 1.5, 1e300, 1 << 37, 1 << 62])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3) | TIMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "changes", "x"]), inner),
    max_leaves=8,
)
PAIRS = st.lists(JSON, min_size=1, max_size=3)
INNER = st.fixed_dictionaries(
    {"name": st.text(max_size=2)}, optional={"changes": st.dictionaries(st.text(max_size=1), PAIRS) | JSON, "x": JSON}
)
ROWS = st.lists(st.lists(st.text(max_size=2), max_size=2), max_size=2)
KEYS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("at", "code", "inner", "rows", "unknown"), JSON)
) | st.fixed_dictionaries(
    {"at": TIMES | NUMBERS | st.booleans(), "code": JSON}, optional={"inner": INNER | JSON, "rows": ROWS | JSON}
)
STRICT = TypeAdapter(Outer)


def made_by_pydantic(value: dict[str, Any]) -> Outer | None:
    """Return what pydantic makes of a document without conversions; None if it refuses it.

    Times differ on purpose: seconds since the epoch are taken as a number, not as a text, and a time needs a time zone.
    """
    at = value.get("at")
    if isinstance(at, int | float) and not isinstance(at, bool):
        try:
            value = {**value, "at": datetime.fromtimestamp(at, UTC).isoformat()}
        except (OverflowError, OSError, ValueError):
            return None
    elif at == "7":
        return None
    try:
        made = STRICT.validate_json(json.dumps(value), strict=True)
    except ValidationError:
        return None
    return made if made.at.tzinfo is not None else None


@settings(max_examples=500)
@given(KEYS)
def test_it_agrees_with_pydantic(value: dict[str, Any]) -> None:
    """A document is built if, and only if, pydantic accepts it without conversions, and equals what pydantic makes."""
    try:
        built: Outer | None = documents.build(Outer, value)
    except ValueError:
        built = None
    expected = made_by_pydantic(value)
    assert built == expected
    if built is not None and expected is not None:
        kinds = [repr((each.code, each.inner, each.rows)) for each in (built, expected)]
        assert kinds[0] == kinds[1]  # 1 == True


@given(
    st.builds(
        Outer,
        st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)),
        st.none() | st.text() | st.integers(-(1 << 63), (1 << 63) - 1),
    )
)
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
        ({"at": "0001-01-01T00:00:00+23:59", "code": None}, "at"),
        ({"at": "9999-12-31T23:59:59-23:59", "code": None}, "at"),
        ({"at": 253402300799, "code": None}, "at"),
        ({"at": 0, "code": 10**400}, "code"),
        ({"at": 0, "code": []}, "code"),
        ({"at": 0, "code": 1, "inner": {"name": "a", "changes": {"b": [1]}}}, "inner"),
        ({"at": 0, "code": 1, "rows": [["a", 2]]}, "rows"),
    ],
)
def test_damaged_documents(value: Any, reason: str) -> None:
    """A damaged document is refused with the key that is wrong."""
    with pytest.raises(ValueError, match=reason):
        documents.build(Outer, value)
