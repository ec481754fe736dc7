# SPDX-License-Identifier: GPL-2.0-or-later
"""``[[node.checks]]`` of slurmhooks.toml: what it may say, and how the manifest carries it."""

import inspect
import math
from typing import Any

import pytest

from slurmhooks.node import ready

VALID: list[dict[str, Any]] = [
    {"check": "mount", "path": "/home", "type": "nfs4", "options": ["rw", "hard"]},
    {"check": "space", "path": "/tmp", "free": "10GiB", "inodes": "1%", "every": "10m", "fails": 3},
    {"check": "memory", "total": "500GiB"},
    {"check": "swap", "most": "0", "mode": "warn"},
    {"check": "cpus", "least": 64, "contexts": ["start", "reboot"]},
    {"check": "process", "program": "sshd", "runs": False, "name": "no sshd"},
    {"check": "file", "path": "/var/run/ready", "newer": "1d", "on_error": "drain"},
    {"check": "command", "run": ["/bin/sh", "-c", "a\tb\nc"], "status": 3, "timeout": 2.5, "name": "ü%# x"},
    {"check": "gpus", "count": 8, "nodes": "gpu[01-16],viz*"},
    {"check": "link", "interface": "eth0", "speed": 25000},
    {"check": "infiniband", "device": "mlx5_0"},
    {"check": "clock", "error": 1},
]


@pytest.mark.parametrize("table", VALID, ids=lambda table: str(table["check"]))
def test_valid_checks(table: dict[str, Any]) -> None:
    """A valid check is a handler, and the same one after the manifest has carried it."""
    assert ready.faults(table) == []
    again = ready.table_of(ready.words(table))
    assert {key: list(value) if isinstance(value, list) else value for key, value in again.items()} == table
    one, other = ready.handler(table, "slurmhooks.toml"), ready.handler(again, "slurmhooks.toml")
    closure = inspect.getclosurevars(one.function).nonlocals
    inspect.signature(closure["function"]).bind(**closure["given"])
    assert (one.label, one.contexts, one.timeout, one.lenient) == (
        other.label, other.contexts, other.timeout, other.lenient,
    )  # fmt: skip


def test_no_argument_has_the_name_of_a_key() -> None:
    """A key is either for all checks or for the function of one."""
    names = {name for function in ready.KINDS.values() for name in inspect.signature(function).parameters}
    assert names.isdisjoint(ready.KEYS)


def test_each_function_is_tried() -> None:
    """No ready-made check is missing above."""
    assert {table["check"] for table in VALID} == set(ready.KINDS)


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({}, "check must be one of mount, "),
        ({"check": "mounts"}, "check must be one of mount, "),
        ({"check": "mount"}, "path: missing"),
        ({"check": "mount", "path": "/", "nodes": "gpu[1"}, "nodes takes a list of nodes such as "),
        ({"check": "mount", "path": "/", "nodes": ["gpu1"]}, "nodes takes a list of nodes such as "),
        ({"check": "mount", "path": 3}, "path: must be a text, not 3"),
        ({"check": "mount", "path": "/", "patth": "/"}, "patth: unknown key; mount has path, type, options, "),
        ({"check": "mount", "path": "/", "options": "rw"}, "options: must be a list of texts, not 'rw'"),
        ({"check": "mount", "path": "/", "options": []}, "options: must be a list of texts, not []"),
        ({"check": "space", "path": "/", "free": "10 potatoes"}, "free: must be a size such as 10GiB"),
        ({"check": "space", "path": "/", "free": "nan%"}, "free: must be a size such as 10GiB"),
        ({"check": "space", "path": "/", "free": "-5GiB"}, "free: must be a size such as 10GiB"),
        ({"check": "mount", "path": "scratch"}, "path: must be an absolute path, not 'scratch'"),
        ({"check": "clock", "error": math.nan}, "error: must be a number, not nan"),
        ({"check": "file", "path": "/", "newer": "10"}, "newer: must be a time such as"),
        ({"check": "gpus", "count": True}, "count: must be a number, not True"),
        ({"check": "clock", "mode": "loud"}, "mode takes "),
        ({"check": "clock", "every": "weekly"}, "every takes "),
        ({"check": "clock", "fails": 0}, "fails takes "),
        ({"check": "clock", "timeout": 0}, "timeout: must be more than 0"),
        ({"check": "clock", "contexts": ["start", "noon"]}, "contexts: may name start, "),
        ({"check": "clock", "on_error": "accept"}, "on_error: must be keep or drain"),
    ],
)
def test_wrong_checks(table: dict[str, Any], fault: str) -> None:
    """The finding names the key, and what would be right."""
    (found,) = ready.faults(table)
    assert found.startswith(fault)


@pytest.mark.parametrize("words", [["path"], ["count", "ix"], ["x", "ftwo"]])
def test_damaged_words(words: list[str]) -> None:
    """Words of a damaged manifest raise ValueError."""
    with pytest.raises(ValueError, match=r"shorter|invalid|could not"):
        ready.table_of(words)
