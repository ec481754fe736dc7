# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of nodes that health checks are for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.hooks.node_lists import NodeList
from slurmhooks.job_submit.strings import NotationError, expand_nodes

WORDS = st.text("n1-[],09", max_size=9) | st.sampled_from(["n[1-3]", "n[01-12]", "n[1,3-4]x", "n[0-1]0[08-11]", "gpu7"])
LISTS = st.lists(WORDS, min_size=1, max_size=3).map(",".join)


@given(LISTS, st.text("nx0123", max_size=4))
def test_it_has_the_nodes_that_slurm_means(text: str, other: str) -> None:
    """Without a star, the list has exactly the names of scontrol show hostnames; what Slurm refuses is refused."""
    try:
        names = set(expand_nodes(text))
    except NotationError:
        names = set()
    try:
        nodes = NodeList(text)
    except ValueError:
        return
    assert all(nodes.has(name) for name in names)
    assert nodes.has(other) == (other in names)


@pytest.mark.parametrize(
    ("text", "has", "lacks"),
    [
        ("gpu*", ["gpu", "gpu01", "gpu-x"], ["cpu1", "agpu"]),
        ("*", ["n1"], []),
        ("*-gpu*, viz[1-2]", ["n1-gpu", "a-gpu-b", "viz1"], ["gpu", "viz3"]),
        ("rack[1-2]*", ["rack1", "rack1n7", "rack2n7"], ["rack3n7", "rackn"]),
        ("gpu[01-16]", ["gpu01", "gpu09", "gpu16"], ["gpu1", "gpu17", "gpu001"]),
    ],
)
def test_a_star_stands_for_any_characters(text: str, has: list[str], lacks: list[str]) -> None:
    """A star may be anywhere; ranges of numbers keep their zeros."""
    nodes = NodeList(text)
    assert [name for name in has + lacks if nodes.has(name)] == has


@pytest.mark.parametrize(
    "text", ["", ",", "n1,", "n[", "n]", "n[1", "n[]", "n[a]", "n[3-1]", "n[1-]", "n[1-2-3]", "a b", "n[²]"]
)
def test_what_no_node_can_be_in_is_refused(text: str) -> None:
    """A mistake is no list that has no node."""
    with pytest.raises(ValueError, match=r"^not a node list: "):
        NodeList(text)
