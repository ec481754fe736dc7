# SPDX-License-Identifier: GPL-2.0-or-later
"""How many actions a run takes."""

from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.slurmctld.action import Action
from slurmhooks.slurmctld.every import limited, stops

OWNERS = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=30)


def actions_of(owners: list[tuple[bool, int]]) -> list[Action]:
    """Return an action for each owner: a user of a job, or a node."""
    return [
        Action("drain", f"n{number}", str(place), None, (), {})
        if is_node
        else Action("cancel", str(place), "", place, (), {"user_id": number})
        for place, (is_node, number) in enumerate(owners, 1)
    ]


@given(owners=OWNERS, others=OWNERS, most=st.integers(1, 6))
def test_a_user_decides_for_nobody_else(
    owners: list[tuple[bool, int]], others: list[tuple[bool, int]], most: int
) -> None:
    """What is taken for one user is the same, in order, however many actions there are for another one."""
    mixed = [*owners, *((False, 99) for _ in others)]
    taken, _ = limited(actions_of(owners), most)
    with_another, left = limited(actions_of(mixed), most)
    assert [action for action in with_another if action.about.get("user_id") != 99] == taken
    assert any("user 99" in each.text for each in left) == (len(others) > most)


@given(owners=OWNERS, most=st.integers(1, 6))
def test_a_wrong_rule_reaches_few(owners: list[tuple[bool, int]], most: int) -> None:
    """A run acts on at most so many users and nodes, and on each at most so often; it stops if it would on more."""
    actions = actions_of(owners)
    users = {number for is_node, number in owners if not is_node}
    nodes = {number for is_node, number in owners if is_node}
    assert (stops(actions, most) is not None) == (max(len(users), len(nodes)) > most)
    taken, left = limited(actions, most)
    for owner in set(owners):
        count = owners.count(owner)
        kept = [action for action in taken if actions_of(owners).index(action) in _places(owners, owner)]
        assert len(kept) == (count if count <= most else 0)
    assert len(taken) + sum(len(each.actions) for each in left) == len(actions)


def _places(owners: list[tuple[bool, int]], owner: tuple[bool, int]) -> list[int]:
    return [place for place, each in enumerate(owners) if each == owner]
