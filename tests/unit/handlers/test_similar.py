# SPDX-License-Identifier: GPL-2.0-or-later
"""Similar names."""

import difflib
import random
import string
import sys

import pytest

from slurmhooks.handlers import codes
from slurmhooks.handlers.similar import nearest
from slurmhooks.spank.fields import ITEMS

NAMES = ["qos", "comment", "account", "admin_comment", "partition", "time_limit", "time_min", "user_id"]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("accounn", "account"),
        ("acount", "account"),
        ("accuont", "account"),
        ("time_limt", "time_limit"),
        ("timelimit", "time_limit"),
        ("ESLURM_INVALID_ACOUNT", "ESLURM_INVALID_ACCOUNT"),
        ("ESPANK_EROR", "ESPANK_ERROR"),
        ("uid", "user_id"),
        ("part", "partition"),
        ("time", "time_min"),
    ],
)
def test_nearest_names(name: str, first: str) -> None:
    """An unknown name is reported with similar names, the most similar one first."""
    text = nearest(name, [*NAMES, *codes.names()])
    assert text.removeprefix("; nearest: ").split(", ")[0] == first
    assert text.count(",") < 3


@pytest.mark.parametrize("name", ["xyz", "", "q", "\udcff\udcfe"])
def test_names_that_nobody_meant(name: str) -> None:
    """If no name is similar, nothing is said."""
    assert nearest(name, NAMES) == ""


def test_slips_of_the_finger() -> None:
    """A missing, wrong, doubled or swapped letter in a name of five letters and more is recognized."""
    rng = random.Random(1)
    names = [item.item.removeprefix("S_").lower() for item in ITEMS]
    for name in names:
        at, letter = rng.randrange(len(name) - 1), rng.choice(string.ascii_lowercase)
        for wrong in (
            name[:at] + name[at + 1 :],
            name[:at] + letter + name[at + 1 :],
            name[:at] + name[at] + name[at:],
            name[:at] + name[at + 1] + name[at] + name[at + 2 :],
        ):
            if wrong not in names:
                assert name in nearest(wrong, names), wrong


def test_all_that_difflib_finds() -> None:
    """Whatever difflib considers very similar is found."""
    rng = random.Random(2)
    names = codes.names()
    for name in rng.sample(names, 20):
        wrong = "".join(char for char in name if rng.random() > 0.05)
        (best,) = difflib.get_close_matches(wrong, names, 1, 0.0)
        close = difflib.SequenceMatcher(None, best, wrong).ratio()
        assert wrong in names or close < 0.9 or best in nearest(wrong, names), wrong


def test_a_long_name_costs_little() -> None:
    """A name may come from a user: only its start is compared."""
    assert nearest("account" + "x" * 57, NAMES) == nearest("account" + "x" * (1 << 20), NAMES) == ""


def test_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Similar names are found in a process that can import nothing."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    assert nearest("accounn", NAMES) == "; nearest: account"
