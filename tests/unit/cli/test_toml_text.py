# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written as TOML is read by Python's tomllib as the same values."""

import tomllib
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.cli.bundles import toml_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
TIMES = st.datetimes() | st.datetimes(timezones=st.just(UTC)) | st.dates() | st.times()
PLAIN = TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TIMES
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(TEXTS, VALUES | st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=3), max_size=5))
def test_there_and_back(tables: dict[str, object]) -> None:
    """Keys, texts, numbers, times, arrays and tables of whatever form are the same again."""
    assert tomllib.loads(toml_text.render(tables)) == tables
