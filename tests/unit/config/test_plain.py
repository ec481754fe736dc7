# SPDX-License-Identifier: GPL-2.0-or-later
"""Configurations without the model."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.config import plain
from slurmhooks.config.model import Config
from slurmhooks.site import sources as site

from .test_keys import VALUES

LEFT = {"rule", "node"}
"""Tables that only the model reads."""


def values(config: Any) -> dict[str, Any]:
    """Return every value of a configuration, in either form."""
    found: dict[str, Any] = {}
    for name in plain.TABLES:
        table = getattr(config, name)
        for key in plain.TABLES[name]:
            found[f"{name}.{key}"] = (type(getattr(table, key)), getattr(table, key))
    found["modes"], found["rollouts"] = config.rules.modes, config.rollouts()
    found["defaults"], found["exemptions"] = config.rules.defaults, config.rules.exemptions
    for name in LEFT:
        found[name] = getattr(config, name)
    return found


@st.composite
def tables(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Return valid tables."""
    drawn: dict[str, dict[str, Any]] = {}
    for name in draw(st.sets(st.sampled_from(sorted(plain.TABLES)))):
        rows = plain.TABLES[name]
        drawn[name] = {}
        for key in draw(st.sets(st.sampled_from(sorted(rows)))) if rows else ():
            words = st.sampled_from(rows[key].words) if rows[key].words else st.nothing()
            value = draw(st.one_of(VALUES, words, st.lists(words), st.just(rows[key].default)))
            if rows[key].is_valid(value):
                drawn[name][key] = value
    return drawn


@pytest.mark.slow
@given(tables())
def test_the_same_values_as_the_model(drawn: dict[str, dict[str, Any]]) -> None:
    """A file without the tables that only the model reads means the same with and without it, types included."""
    assert values(plain.Plain(drawn)) == values(Config.model_validate(drawn))


def test_every_table_of_the_model() -> None:
    """Each table of the model is either read without it, or named here as one that is not."""
    assert {*plain.TABLES, *LEFT} == set(Config.model_fields)


@pytest.mark.parametrize(
    ("text", "with_model"),
    [
        ("", False),
        ('[hooks]\npaths = ["a.py"]\n[rules]\nrefusals = "all"\n', False),
        ('[hooks]\npaths = ["\\u0061.py"]\n', False),
        ('[rules.modes."a:b"]\nmode = "off"\n', True),
        ("[rules.defaults]\n", True),
        ("rule = []\n", True),
        ("[node]\n", True),
    ],
)
def test_which_files_need_the_model(write: Any, text: str, *, with_model: bool) -> None:
    """Files that sites write for slurmctld are read without pydantic, except for ready-made rules, checks and modes.

    Whoever needs none of these reads every file without it, and the same values.
    """
    path = write("slurmhooks.toml", text)
    whole, part = (site.located_config(path, whole=whole)[1] for whole in (True, False))
    assert isinstance(whole, Config) == with_model
    assert not isinstance(part, Config)
    of_part = values(part)
    assert {name: value for name, value in values(whole).items() if "." in name}.items() <= of_part.items()
