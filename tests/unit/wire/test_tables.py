# SPDX-License-Identifier: GPL-2.0-or-later
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.wire.tables import KINDS, Member, Table, TableError, Tables, parse

names = st.from_regex(r"[a-z_]{1,8}(\.[a-z_]{1,8})?", fullmatch=True)
members = st.builds(Member, names, st.sampled_from(KINDS), st.booleans())
tables = st.builds(
    lambda name, found: Table(name, tuple(found)), names, st.lists(members, max_size=9, unique_by=lambda one: one.name)
)
constants = st.dictionaries(
    names, st.dictionaries(names, st.integers(-(1 << 63), (1 << 64) - 1), max_size=3), max_size=3
)


@pytest.mark.slow
@given(st.lists(tables, max_size=4, unique_by=lambda table: table.name), constants)
def test_tables_round_trip(found: list[Table], groups: dict[str, dict[str, int]]) -> None:
    """The text of tables reads back as the same tables with the same identity."""
    made = Tables("24.11.5", "source", tuple(found), groups)
    again = parse(made.text)
    assert (again.release, again.tier) == (made.release, made.tier)
    assert [(each.name, each.members) for each in again.tables] == [(each.name, each.members) for each in found]
    assert again.identity == made.identity
    assert again.constants == groups


def test_every_difference_has_another_identity() -> None:
    """Release, tier, and name, kind, order and writability of each member are part of the identity."""
    one, two = Member("a", "text"), Member("b", "u32")
    variants = [
        Tables("24.11.5", "public", (Table("job", (one, two)),)),
        Tables("24.11.4", "public", (Table("job", (one, two)),)),
        Tables("24.11.5", "source", (Table("job", (one, two)),)),
        Tables("24.11.5", "public", (Table("job", (two, one)),)),
        Tables("24.11.5", "public", (Table("job", (one, Member("b", "u64"))),)),
        Tables("24.11.5", "public", (Table("job", (one, Member("b", "u32", True))),)),
        Tables("24.11.5", "public", (Table("jobs", (one, two)),)),
    ]
    assert len({made.identity for made in variants}) == len(variants)


@given(
    st.text()
    | st.lists(st.sampled_from(["slurmhooks table 1", "release 1 2", "table job", "u8 a", "u8"])).map("\n".join)
)
def test_other_texts_are_refused(text: str) -> None:
    """Arbitrary text raises TableError unless it happens to be a table."""
    with contextlib.suppress(TableError):
        assert parse(text).text == text


def test_members_behind_pointers() -> None:
    """A member behind a pointer names it; a member of a nested struct names none."""
    table = Table(
        "record", (Member("details", "pointer"), Member("details.nice", "u32"), Member("step_id.sluid", "u64"))
    )
    assert table.via == (None, 0, None)


def test_a_member_appears_once() -> None:
    """Two members of one name raise TableError."""
    with pytest.raises(TableError, match="appears twice"):
        Table("job", (Member("a", "u8"), Member("a", "u16")))
