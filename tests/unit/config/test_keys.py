# SPDX-License-Identifier: GPL-2.0-or-later
"""Launches read slurmhooks.toml by the rows of keys.py; the model of pydantic reads the same from the same rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from slurmhooks.config import controller, keys
from slurmhooks.config.model import Config
from slurmhooks.site.sources import located_config

OTHERS = {"rules", "rule", "node"}
"""Tables that no launch reads."""

TABLES = {name: keys.rows(table) for name, table in {**keys.TABLES, **controller.TABLES}.items()}
EVERY_KEY = [(table, key) for table in TABLES for key in TABLES[table]]
NEAR = {
    bound + step
    for table in TABLES.values()
    for key in table.values()
    for bound in (key.least, key.most)
    if bound is not None
    for step in (-1, -0.001, 0, 0.001, 1)
}
TEXTS = {word for table in TABLES.values() for key in table.values() for word in key.words} | {
    *("", " ", "x", "filetxt", "a-b", "/var/log", "/a\nb", "unlimited"),
    *("512MiB", "1KiB", "7 GiB", "-1MiB", "\u00b2KiB"),
    *("0.5", "1", "true", "MiB", "10m", "user", "a.py"),
}
SCALARS = st.one_of(
    st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(sorted(NEAR)),
    st.sampled_from([int(number) for number in sorted(NEAR)]), st.sampled_from(sorted(TEXTS)),
)  # fmt: skip
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), SCALARS, max_size=1))


def read(table: str, key: str, value: Any) -> Any:
    """Return the value that the model has; NotImplemented if it refuses it."""
    if "\\u0000" in json.dumps(value):  # refused wherever it is in the file
        return NotImplemented
    try:
        return getattr(getattr(Config.model_validate({table: {key: value}}), table), key)
    except ValidationError:
        return NotImplemented


def test_every_table_and_key_of_the_model() -> None:
    """Launches know each table and key that the model knows, except those that only slurmctld or a node reads."""
    models = {name: field.annotation for name, field in Config.model_fields.items() if name not in OTHERS}
    assert set(TABLES) == set(models)
    for name, model in models.items():
        assert model is not None
        fields: dict[str, Any] = model.model_fields
        assert {key: (row.default, row.description) for key, row in TABLES[name].items()} == {
            key: (field.default, field.description) for key, field in fields.items()
        }


@pytest.mark.moved
@pytest.mark.parametrize(("table", "key"), EVERY_KEY)
@given(value=VALUES)
@example(value="\0")
def test_launches_read_what_is_meant(table: str, key: str, value: Any) -> None:
    """What is valid for launches is valid for the model, and the other way round, and means the same to both.

    Except sizes, which no launch reads.
    """
    row = TABLES[table][key]
    meant = read(table, key, value)
    assert row.is_valid(value) == (meant is not NotImplemented), json.dumps(value)
    if meant is not NotImplemented and row.kind not in (keys.SIZE, keys.SIZE_OR_UNLIMITED):
        assert (list(meant) if row.kind == keys.TEXTS else meant) == value


def test_defaults_without_the_model(tmp_path: Path) -> None:
    """Launches and commands get the default of each key of a file that does not have it, whatever its table is."""
    path = tmp_path / "slurmhooks.toml"
    path.write_text("[hooks]\n")
    read, model = located_config(path)[1], Config()
    wrong = [
        each
        for each in EVERY_KEY
        if getattr(getattr(read, each[0]), each[1]) != getattr(getattr(model, each[0]), each[1])
    ]
    assert wrong == []


def permits(schema: dict[str, Any], value: Any) -> bool:
    """Tell whether a JSON schema permits the type of a value; of texts, also the value itself."""
    if "anyOf" in schema:
        return any(permits(each, value) for each in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return names[type(value)] in kinds or (type(value) is int and "number" in kinds)


SAMPLES: list[Any] = [True, 1, 100, 4096, 1 << 30, 0.5, ["a.py"], *sorted(TEXTS)]


def test_editors_accept_what_the_file_may_have() -> None:
    """The JSON schema permits each valid value; some are valid for each key."""
    for table, key in EVERY_KEY:
        schema = getattr(Config(), table).__class__.model_json_schema()["properties"][key]
        row = TABLES[table][key]
        valid = [value for value in (*SAMPLES, [*row.words], row.least) if row.is_valid(value)]
        assert valid, (table, key)
        assert [value for value in valid if not permits(schema, value)] == [], (table, key)


@pytest.mark.parametrize("text", ["1KiB", "512MiB", "7GiB", "2048GiB"])
def test_sizes_are_shown_as_they_are_written(text: str) -> None:
    """What a size becomes is shown in its unit; numbers without one are bytes; "unlimited" is no limit."""
    assert keys.size("unlimited") is None
    assert keys.size_text(keys.size(text)) == text
    assert keys.size_text(keys.size(text) + 1) == f"{keys.size(text) + 1} bytes"
