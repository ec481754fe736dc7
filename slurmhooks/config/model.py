# SPDX-License-Identifier: GPL-2.0-or-later
"""How slurmhooks.toml is read; its model is in slurmhooks.config.sections.

Launches avoid this module where they can, because it imports pydantic, which is slow.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from slurmhooks.config import controller
from slurmhooks.config.sections import Config, HandlerMode, RuleDefaults, RuleTexts, Section
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import paths, trusted
from slurmhooks.handlers.similar import nearest

__all__ = ("Config", "InvalidConfigError", "ended", "findings", "read", "sections")

MOST = 1 << 63
"""Limit of numbers: those of TOML have 64 bits."""
RENAMED = {
    "policies": "[[rule]]",
    "policy": '[rules], and a table of it for a handler [rules.modes."LABEL"]',
    "policy_defaults": "[rules.defaults]",
    "policy_exemptions": "[[rules.exemptions]]",
    "priority": "[site_factor]",
    "job_end": "[jobcomp]",
    "health": "[node]",
}
"""Tables of 1.0.0, by their names there."""
ENDED = {
    "reload": [name for name, table in controller.TABLES.items() if issubclass(table, controller.Workers)],
    "sockets": ["metrics"],
}
"""Keys of 1.0.0 that have no effect any more, each with its tables: an accepted file stays accepted."""
INSTEAD = {"sockets": "let node_exporter read 'textfiles'"}
"""What to do about such a key, if not to remove it."""
ENDED_TABLE = "spank"
"""A table of 1.0.0 that has never had keys."""
INVALID = "Value error, "
"""How pydantic begins the text of a ValueError."""
DEEPEST = 20
"""Limit of tables and lists in each other; keys of the model have at most five levels."""


class InvalidConfigError(ConfigError):
    """Tables of the file have errors.

    Attributes:
        path: of the file.
        rest: the configuration without these tables, in which commands look for more errors; no process obeys it.
    """

    def __init__(self, path: Path, found: list[str], rest: Config | None) -> None:
        super().__init__(found)
        self.path = path
        self.rest = rest


def sections() -> dict[str, type[Section]]:
    """Return the models of the tables by name, for the reference; the ready-made rules have a page of their own."""
    tables: dict[str, Any] = {name: field.annotation for name, field in Config.model_fields.items()}
    del tables["rule"]
    return {**tables, "rules": RuleTexts, "rules.defaults": RuleDefaults, 'rules.modes."LABEL"': HandlerMode}


def read(path: Path) -> Config:
    """Read and validate the file; return an empty configuration if it does not exist, whatever link is on the way.

    Raises:
        ConfigError: with a finding for each error, which names the file and the key.
    """
    table = _table(path)
    for name, key in _ended(table):
        del table[name][key]
    if table.get(ENDED_TABLE) == {}:
        del table[ENDED_TABLE]
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise InvalidConfigError(path, findings(str(path), error, Config), _rest(table, error)) from error


def ended(path: Path) -> list[str]:
    """Return a note for each key of a file that can be read which has no effect any more."""
    return [
        f"{path}: {name}.{key}: has no effect any more: {INSTEAD.get(key, 'remove it')}"
        for name, key in _ended(_table(path))
    ]


def _ended(table: dict[str, Any]) -> list[tuple[str, str]]:
    """Return these keys, each after its table."""
    return [
        (name, key)
        for key, names in ENDED.items()
        for name in names
        if isinstance(table.get(name), dict) and key in table[name]
    ]


def _table(path: Path) -> dict[str, Any]:
    """Return the text of the file as TOML means it; nothing if it does not exist. Errors are those of read()."""
    try:
        text = trusted.read(str(path)).decode("utf-8-sig")
    except FileNotFoundError as error:
        if not paths.is_absent(str(path)):
            raise ConfigError([f"{path}: was replaced while it was read: try again"]) from error
        return {}
    except LoadError as error:
        raise ConfigError(error.findings) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path}: {error}"]) from error
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number with thousands of digits
        raise ConfigError([f"{path}: not TOML: {error}"]) from error
    if impossible := [f"{path}: {place}: {fault}" for place, fault in _impossible(table)]:
        raise ConfigError(impossible)
    return table


def _rest(table: dict[str, Any], error: ValidationError) -> Config | None:
    """Return the configuration without tables that have errors; None if rules cannot be judged without these."""
    wrong = {item["loc"][: 2 if item["loc"][0] == "rules" else 1] for item in error.errors() if item["loc"]}
    if wrong & {("rule",), ("rules",), ("rules", "defaults"), ("rules", "exemptions"), *((name,) for name in RENAMED)}:
        return None
    rest = {name: value for name, value in table.items() if (name,) not in wrong}
    if "rules" in rest:
        rest["rules"] = {name: value for name, value in rest["rules"].items() if ("rules", name) not in wrong}
    try:
        return Config.model_validate(rest)
    except ValidationError:
        return None


def _impossible(value: object, place: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield places and faults of values that no table can have: texts with NUL bytes, and numbers of other than TOML.

    The kernel has no names with NUL bytes, and Python refuses to write numbers with thousands of digits. A key with
    thousands of dots is valid TOML, but no code can walk its tables.
    """
    if depth > DEEPEST:
        yield place, "must not be nested so deeply"
    elif isinstance(value, str) and "\0" in value:
        yield place, "must have no NUL byte"
    elif isinstance(value, int) and not -MOST <= value < MOST:
        yield place, "must be a number of at most 64 bits"
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            name = f"{place}.{key}" if place else str(key)
            yield from _impossible(str(key), name)
            yield from _impossible(item, name, depth + 1)


def findings(where: str, error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return a finding for each error of a model."""
    return [": ".join([where, *_fault(item, model)]) for item in error.errors()]


def _fault(item: ErrorDetails, model: type[BaseModel]) -> Iterator[str]:
    """Yield the key of an error, if it is about one, and what is wrong."""
    place = item["loc"]
    if not place:
        yield item["msg"].removeprefix(INVALID)
        return
    yield ".".join(map(str, place))
    wrong = item["type"] == "extra_forbidden"
    yield _unknown(place, model) if wrong else _explain(item["type"], item["msg"], item["input"])


def _unknown(place: tuple[int | str, ...], model: Any) -> str:
    """Say that a key is unknown, with the word that has replaced it, or similar keys of its table."""
    if model is Config and place[0] in RENAMED and len(place) == 1:
        return f"is called {RENAMED[str(place[0])]} now"
    for part in place[:-1]:
        model = model.model_fields[part].annotation if part in getattr(model, "model_fields", ()) else None
    return f"unknown key{nearest(str(place[-1]), getattr(model, 'model_fields', ()))}"


def _explain(kind: str, message: str, value: Any) -> str:
    """Describe an error of pydantic, in the terms of TOML."""
    if kind == "tuple_type" and isinstance(value, dict):
        return "must be a list of tables: write its name in two brackets, as in [[rule]]"
    if kind == "model_type" and isinstance(value, list):
        return "must be one table, with single brackets; rules are a list of tables, each [[rule]]"
    if kind == "missing":
        return "missing"
    if kind == "tuple_type":
        texts = json.dumps(value if isinstance(value, str) else "...", ensure_ascii=False)
        return f"must be a list of texts, as in [{texts}], not {value!r}"
    expected = _EXPECTED.get(kind)
    if expected is None:
        message = message.removeprefix(INVALID).replace("Input should be", "must be")
        return message if repr(value) in message else f"{message}, not {value!r}"
    return f"must be {expected}, not {value!r}"


_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a number",
    "model_type": "a table",
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
}
