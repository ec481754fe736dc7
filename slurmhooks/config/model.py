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

from slurmhooks.config.sections import Config, Policy, Section
from slurmhooks.errors import ConfigError, LoadError, ReplacedError
from slurmhooks.files import paths, trusted
from slurmhooks.handlers.similar import nearest

__all__ = ("Config", "InvalidConfigError", "findings", "read", "sections")

MOST = 1 << 63
"""Limit of numbers: those of TOML have 64 bits."""
DEEPEST = 20
"""Limit of tables and lists in each other; keys of the model have at most five levels."""


class InvalidConfigError(ConfigError):
    """Tables of the file have errors.

    Attributes:
        path: of the file.
        rest: the configuration without these tables, in which commands look for more errors; no process obeys it.
    """

    def __init__(self, path: Path, found: list[str], rest: Config | None) -> None:
        """Take the findings."""
        super().__init__(found)
        self.path = path
        self.rest = rest


def sections() -> dict[str, type[Section]]:
    """Return the models of the tables by name, for the reference; the ready-made rules have a page of their own."""
    tables: dict[str, Any] = {name: field.annotation for name, field in Config.model_fields.items()}
    del tables["policies"], tables["policy_exemptions"]
    return {**tables, 'policy."LABEL"': Policy}


def read(path: Path) -> Config:
    """Read and validate the file; return an empty configuration if it does not exist, whatever link is on the way.

    Args:
        path: path of the file.

    Raises:
        ConfigError: with a finding for each error, which names the file and the key.
    """
    try:
        text = trusted.read(str(path)).decode("utf-8-sig")
    except FileNotFoundError as error:
        if not paths.is_absent(str(path)):
            raise ReplacedError([f"{path}: was replaced while it was read: try again"]) from error
        return Config()
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
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise InvalidConfigError(path, findings(str(path), error, Config), _rest(table, error)) from error


def _rest(table: dict[str, Any], error: ValidationError) -> Config | None:
    """Return the configuration without tables that have errors; None if rules cannot be judged without these."""
    wrong = {item["loc"][0] for item in error.errors() if item["loc"]}
    if wrong & {"policies", "policy_defaults", "policy_exemptions"}:
        return None
    try:
        return Config.model_validate({name: value for name, value in table.items() if name not in wrong})
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
    """Return a finding for each error of a model.

    Args:
        where: what the model was validated from.
        error: the errors.
        model: the model.
    """
    return [
        f"{where}: {'.'.join(map(str, item['loc']))}: "
        + (
            f"unknown key{_nearest(item['loc'], model)}"
            if item["type"] == "extra_forbidden"
            else _explain(item["type"], item["msg"], item["input"])
        )
        for item in error.errors()
    ]


def _nearest(place: tuple[int | str, ...], model: Any) -> str:
    """Return the similar keys of the table in which a key is unknown."""
    for part in place[:-1]:
        model = model.model_fields[part].annotation if part in getattr(model, "model_fields", ()) else None
    return nearest(str(place[-1]), getattr(model, "model_fields", ()))


def _explain(kind: str, message: str, value: Any) -> str:
    """Describe an error of pydantic, in the terms of TOML."""
    if kind == "tuple_type" and isinstance(value, dict):
        return "must be a list of tables: write its name in two brackets, as in [[policies]]"
    if kind == "missing":
        return "missing"
    if kind == "tuple_type":
        texts = json.dumps(value if isinstance(value, str) else "...", ensure_ascii=False)
        return f"must be a list of texts, as in [{texts}], not {value!r}"
    expected = _EXPECTED.get(kind)
    if expected is None:
        message = message.removeprefix("Value error, ").replace("Input should be", "must be")
        return message if repr(value) in message else f"{message}, not {value!r}"
    return f"must be {expected}, not {value!r}"


_EXPECTED = {
    "bool_type": "true or false",
    "date_type": "a date without quotes, as in 2027-01-31",
    "int_type": "a number",
    "model_type": "a table",
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
}
