# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of nodes; tests/cluster/test_job_submit_strings.py compares the results with Slurm's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.job_submit.strings import NotationError, collapse_nodes, expand_nodes
from tests.costs import cost


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, []),
        ("", []),
        ("n1", ["n1"]),
        ("n[1-3],n5", ["n1", "n2", "n3", "n5"]),
        ("n[01-03,7],gpu1", ["n01", "n02", "n03", "n7", "gpu1"]),
        ("r[0-1]n[1-2]", ["r0n1", "r0n2", "r1n1", "r1n2"]),
        ("r[0-1]n[1-2]x[3]", ["r0n1x3", "r1n1x3", "r0n2x3", "r1n2x3"]),
        ("n[09-11]", ["n09", "n10", "n11"]),
        ("n[1,3-4]-ib", ["n1-ib", "n3-ib", "n4-ib"]),
        (",a, b\tc,", ["a", "b", "c"]),
        ("n[1-]", ["n1"]),
    ],
)
def test_node_lists_expand(text: str | None, names: list[str]) -> None:
    """Ranges, several brackets, widths and separators are expanded."""
    assert expand_nodes(text) == names


@pytest.mark.parametrize(
    "text", ["n[", "n]", "n[1", "n[]", "n[3-1]", "n[a-b]", "n[-1]", "n[1,,2]", "n[[1]]", "n[0-99999]"]
)
def test_no_node_lists(text: str) -> None:
    """An invalid node list raises an error."""
    with pytest.raises(ValueError, match="node"):
        expand_nodes(text)


@pytest.mark.parametrize(
    "text", ["r[0-9999]n[0-9999]", "n[0-65535],m", "n[" + ",".join(["0-65535"] * 80) + "]", "n[0-1]" * 40]
)
def test_node_lists_are_counted_before_names_are_made(text: str) -> None:
    """A list with too many nodes is refused without making them."""

    def refuse() -> None:
        with pytest.raises(NotationError, match=r"more than 65536 nodes|more than 255 characters"):
            expand_nodes(text)

    refuse()
    steps, peak = cost(refuse)
    assert steps < 5000
    assert peak < 100_000


def test_long_node_names_are_refused() -> None:
    """A name has at most 255 characters, including leading zeros."""
    assert len(expand_nodes("n" * 254 + "[1-9]")) == 9
    for text in ("n" * 250 + "[000001-9]", "n" * 256, "[1]" * 256, "n" * 250 + "[1-100000]"):
        with pytest.raises(NotationError, match="characters"):
            expand_nodes(text)
    assert len(expand_nodes("n[0-65535]")) == 65536


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n2", "n3", "n5"], "n[1-3,5]"),
        (["n1", "n3", "n2"], "n[1,3,2]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["n9", "n10"], "n[9-10]"),
        (["n001", "n2"], "n[001,2]"),
        (["n1", "m1", "n2"], "n1,m1,n2"),
        (["a", "b", "a1"], "a,b,a1"),
        (["n1-2", "n1-3"], "n1-[2-3]"),
    ],
)
def test_node_lists_collapse(names: list[str], text: str) -> None:
    """Neighbouring numbers of the same width are joined, and the order stays."""
    assert collapse_nodes(names) == text


@given(st.lists(st.from_regex(r"[a-z][a-z0-9-]{0,3}[0-9]{0,3}", fullmatch=True)))
def test_node_lists_round_trip(names: list[str]) -> None:
    """Names, collapsed and expanded, are the same names in the same order."""
    assert expand_nodes(collapse_nodes(names)) == names
