# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's notation of TRES; tests/cluster/test_notations.py compares the results with Slurm's own."""

import contextlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slurmhooks.job_submit.strings import NotationError, Tres, TresItem

words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(
    st.sampled_from(["gres/gpu=", "gpu:", "gpu:a100:", "cpu=", "mem=", "license/a:"]),
    st.integers(0, 10**21),
    st.sampled_from(["", *"KMGTPkmgtp", "KB", "MiB", "Gb", "TIB", "pB"]),
)
def test_large_counts(name: str, number: int, unit: str) -> None:
    """An amount fits into 64 bits, as in Slurm; what is read can be written, and is then read as the same."""
    with contextlib.suppress(NotationError):
        found = Tres.parse(f"{name}{number}{unit}")
        assert all(item.count < 1 << 64 for item in found)
        assert Tres.parse(str(found)) == found


@given(st.integers(1, 1 << 29) | st.integers(1, 1 << 19).map(lambda number: number << 9))
def test_memory_as_records_have_it(number: int) -> None:
    """Slurm divides an amount as long as a half remains at most, which convert_num_unit2() calls exact."""
    amount, unit = float(number), 0
    while amount >= 1024 and int(amount) % 512 == 0:
        amount, unit = amount / 1024, unit + 1
    assume(amount * 2 == int(amount * 2))  # Slurm itself loses the rest of 1024.5G
    text = f"{int(amount)}" if amount == int(amount) else f"{amount:.2f}"
    assert Tres.parse(f"cpu=1,mem={text}{'MGT'[unit]},node=1")["mem"] == number


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (None, []),
        ("", []),
        ("cpu=4,mem=8G", [TresItem("cpu", count=4), TresItem("mem", count=8192)]),
        ("gres/gpu", [TresItem("gres/gpu")]),
        ("gres/gpu:2", [TresItem("gres/gpu", count=2)]),
        ("gres:gpu:2", [TresItem("gres/gpu", count=2)]),
        ("gres:gpu:a100:4", [TresItem("gres/gpu", "a100", 4)]),
        ("gres/gpu:a100=4", [TresItem("gres/gpu", "a100", 4)]),
        ("gres/gpu:a100", [TresItem("gres/gpu", "a100", 1)]),
        ("gres/gpu:1080ti", [TresItem("gres/gpu", "1080ti", 1)]),
        ("gres/gpu:08", [TresItem("gres/gpu", count=8)]),
        ("gpu:2(S:0)", [TresItem("gres/gpu", count=2, where="S:0")]),
        ("gpu:a100:2(IDX:0,3)", [TresItem("gres/gpu", "a100", 2, "IDX:0,3")]),
        ("craynetwork", [TresItem("gres/craynetwork")]),
        ("bandwidth:4K", [TresItem("gres/bandwidth", count=4096)]),
        ("bandwidth:4KB", [TresItem("gres/bandwidth", count=4000)]),
        ("license/matlab=2", [TresItem("license/matlab", count=2)]),
        ("license/matlab:2", [TresItem("license/matlab", count=2)]),
        (
            "cpu=1,mem=4000M,node=1,billing=1,gres/gpu=2,gres/gpu:a100=2",
            [
                TresItem("cpu"),
                TresItem("mem", count=4000),
                TresItem("node"),
                TresItem("billing"),
                TresItem("gres/gpu", count=2),
                TresItem("gres/gpu", "a100", 2),
            ],
        ),
    ],
)
def test_tres(text: str | None, items: list[TresItem]) -> None:
    """Every notation of a TRES is read."""
    assert list(Tres.parse(text)) == items


@pytest.mark.parametrize(
    "text",
    [
        "gpu:", "gpu=x", "gpu:a:b:2", "gpu(2", "gpu)", "license/a:b=2", "cpu/x=1", "mem=x", "gpu:=2", "=2", "gresgpu",
        "xgres/gpu", "gres/gpu/gres", "licenseansys", "xlicense/a", "gres=4", "gres/2", "gres/gpu:+8", "gres/gpu: 8",
    ],
)  # fmt: skip
def test_no_tres(text: str) -> None:
    """An invalid TRES raises an error."""
    with pytest.raises(ValueError, match="not a "):
        Tres.parse(text)


def test_types_are_changed() -> None:
    """GRES without a type get one; other TRES have none."""
    tres = Tres.parse("gres/gpu=2,gres/gpu:h100=1,license/a=3")
    assert str(tres.typed("gres/gpu", "a100")) == "gres/gpu:a100=2,gres/gpu:h100=1,license/a=3"
    assert str(TresItem("gres/gpu", "a100", 2).with_type(None)) == "gres/gpu=2"
    with pytest.raises(ValueError, match="cannot have the type"):
        TresItem("cpu").with_type("a")
    with pytest.raises(ValueError, match="cannot have the type"):
        TresItem("gres/gpu").with_type("a,b")


def test_tres_are_counted_and_changed() -> None:
    """A name counts all its types; a name with a type counts that one; counts can be replaced."""
    tres = Tres.parse("gpu:a100:2,gpu:h100:1,mem=1G")
    assert tres["gres/gpu"] == 3
    assert tres["gres/gpu:a100"] == 2
    assert tres["gres/fpga"] == 0
    assert "gres/gpu:h100" in tres
    assert "gres/fpga" not in tres
    assert str(tres) == "gres/gpu:a100=2,gres/gpu:h100=1,mem=1G"
    assert str(tres.with_count("gres/gpu:a100", 4)) == "gres/gpu:a100=4,gres/gpu:h100=1,mem=1G"
    assert str(tres.with_count("gres/gpu:h100", 0)) == "gres/gpu:a100=2,mem=1G"
    assert str(tres.with_count("gres/gpu:v100", 1)).endswith(",gres/gpu:v100=1")
    assert len(Tres()) == 0


@pytest.mark.slow
@given(st.lists(st.builds(TresItem, words.map("gres/{}".format), words | st.none(), st.integers(0, 1 << 40))))
def test_tres_round_trip(items: list[TresItem]) -> None:
    """TRES that are written are read as the same."""
    assert Tres.parse(str(Tres(tuple(items)))).items == tuple(items)
