# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON of reports: as Python's own library reads and writes it, whatever the content."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.collector import json_lines

TEXTS = st.one_of(st.text(st.characters(exclude_categories=())), st.sampled_from(["Infinity", "NaN", "\x9b", "\udc80"]))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=10,
)


@pytest.mark.slow
@given(st.dictionaries(TEXTS, VALUES))
def test_what_is_written_is_read_again(content: dict[str, object]) -> None:
    """Any content that JSON can represent survives, and Python's own library reads the same; the line is ASCII."""
    data = json_lines.encode(content)
    assert data.isascii()
    assert b"\n" not in data
    assert json_lines.decode(data) == json.loads(data) == content


@pytest.mark.slow
@given(
    st.one_of(
        VALUES.map(lambda value: json.dumps(value).encode()),
        st.binary(),
        TEXTS.map(lambda text: text.encode("utf-8", "replace")),
    )
)
def test_invalid_json_is_refused(data: bytes) -> None:
    """What Python's own library refuses, or reads as a number that is not finite, has no value either."""
    try:
        value = json.loads(data.decode(), parse_constant=pytest.fail)
    except (ValueError, pytest.fail.Exception):
        with pytest.raises(ValueError, match=r"\S"):
            json_lines.decode(data)
    else:
        assert json_lines.decode(data) == value


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_only_finite_numbers_are_written(number: float) -> None:
    """A number that JSON cannot represent is an error, not a line that no reader understands."""
    with pytest.raises(ValueError, match="JSON"):
        json_lines.encode({"number": [number]})
