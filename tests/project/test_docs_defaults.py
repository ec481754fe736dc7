# SPDX-License-Identifier: GPL-2.0-or-later
"""Defaults and keys that pages of the guide state are those of the code."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from slurmhooks.config import model as config
from slurmhooks.config.keys import UNITS
from slurmhooks.hooks.points import HOOKS
from slurmhooks.node import checks
from tests.project.docs_pages import PAGES

TABLES = {"decision-log": "decisions", "metrics": "metrics", "permissions": "job_submit"}
"""The section that a table with the columns `key` and `default` is about, by its page."""
UNSET = ("off", "nothing", "SlurmUser", "beside `SlurmctldLogFile`")
"""What such a table has instead of a value."""


def value_of(text: str) -> Any:
    """Return the value that a page shows, such as ``2 s``, ``64 MiB`` or ``"reject"`` in backticks; None is unset."""
    if text in UNSET:
        return None
    word = text.strip('`"')
    number = re.fullmatch(r"([\d.]+) ?(s|[KMG]iB)?", word)
    if number is not None:
        return float(number[1]) * UNITS.get(number[2], 1)
    return {"true": True, "false": False}.get(word, word)


def stated() -> Iterator[tuple[str, str, str]]:
    """Return section, key and text of each default in a table."""
    for text in PAGES.values():
        yield from re.findall(r"`\[(\w+)\] (\w+)`, ([^|,]+?) \|", text)
    for name, section in TABLES.items():
        (table,) = re.findall(r"^\| key \| default \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGES[name], re.MULTILINE)
        for row in table.splitlines():
            keys, shown = row.split(" | ")[:2]
            names = re.findall(r"`(\w+)`", keys)
            defaults = shown.split(", ") if len(names) > 1 else [shown]
            yield from ((section, key, default) for key, default in zip(names, defaults, strict=True))


@pytest.mark.parametrize(("section", "key", "shown"), sorted(set(stated())))
def test_keys(section: str, key: str, shown: str) -> None:
    """A key of slurmhooks.toml has the default that tables state."""
    default = getattr(getattr(config.Config(), section), key)
    assert value_of(shown) == (None if default == () else default)


def test_timeouts() -> None:
    """The page on handlers that misbehave has the time limit of each hook that runs in a process of Slurm."""
    rows = re.findall(r"^\| ([^|]*`hook\.[^|]*) \| ([\d,]+) s \|", PAGES["misbehaviour"], re.MULTILINE)
    limits = {name: int(limit.replace(",", "")) for cell, limit in rows for name in re.findall(r"`([\w.]+)`", cell)}
    embedded = {name: spec.timeout for name, spec in HOOKS.items() if re.match(r"(spank|cli_filter|scrun)\.", name)}
    for name, timeout in embedded.items():
        group, _, function = name.partition(".")
        names = (f"hook.{name}", function, f"hook.{group}")
        assert next(limits[each] for each in names if each in limits) == timeout, name


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_health_checks(check: Any) -> None:
    """The page on node health names the keys of each ready-made check, with their defaults in brackets."""
    (cell,) = re.findall(rf"^\| `{check.__name__}` \| [^|]* \| ([^|]*) \|$", PAGES["node"], re.MULTILINE)
    keys = re.split(r", (?=`\w+`)", re.sub(r" such as `[^`]*`", "", cell))
    shown = {key.split("`")[1]: re.findall(r"\((`[^)]*`)\)$", key) for key in keys}
    parameters = inspect.signature(check).parameters
    assert list(shown) == list(parameters)
    defaults = {
        name: [] if each.default in (each.empty, None, ()) else [each.default] for name, each in parameters.items()
    }
    assert {name: [value_of(text) for text in texts] for name, texts in shown.items()} == defaults
