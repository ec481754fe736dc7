# SPDX-License-Identifier: GPL-2.0-or-later
"""Map files: values by user, group or account, in a file beside slurmhooks.toml that is a part of the set."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from slurmhooks.rules.typed import ROWS, is_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEY = "map"
TITLES = ("user", "group", "account")
NUMBER = re.compile(r"-?\d{1,18}")


class InvalidMapError(Exception):
    """A map file cannot be used, with the reason."""


def filled(folder: Path, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a rule with the content of its map file, in the folder of slurmhooks.toml, in place of the name.

    Raises:
        InvalidMapError: the file cannot be read, or is no map.
    """
    name = table.get(KEY)
    if not isinstance(name, str):
        return table
    where = PurePosixPath(name)
    if where.is_absolute() or ".." in where.parts or where.suffix not in (".csv", ".toml"):
        raise InvalidMapError("must be a file .csv or .toml beside slurmhooks.toml, or a table")
    try:
        text = trusted.read(str(folder / name)).decode("utf-8-sig")
    except LoadError as error:
        raise InvalidMapError("; ".join(error.findings)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidMapError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    if where.suffix == ".toml":
        try:
            return {**table, KEY: tomllib.loads(text)}
        except tomllib.TOMLDecodeError as error:
            raise InvalidMapError(f"{name}: {error}") from None
    by = str(table.get("by", TITLES[0]))
    return {**table, KEY: _of_csv(name, text, by, texts=is_text(ROWS.get(str(table.get("field")))))}


def _of_csv(name: str, text: str, by: str, *, texts: bool) -> dict[str, Any]:
    """Return what a CSV file has: a name and a value in each line, perhaps below a title."""
    found: dict[str, Any] = {}
    lines = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    read = 0
    try:
        for cells in lines:
            if lines.line_num > read + 1:
                raise InvalidMapError(f"{name}, line {read + 1}: a quote does not end on its line")
            read = lines.line_num
            cells = [cell.strip() for cell in cells]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if len(cells) != 2 or not all(cells):
                raise InvalidMapError(f"{name}, line {lines.line_num}: must have a name and a value")
            if not found and cells[0] in TITLES:
                if cells[0] != by:
                    raise InvalidMapError(f'{name}: has values by {cells[0]}: write by = "{cells[0]}"')
                continue
            if cells[0] in found:
                raise InvalidMapError(f"{name}, line {lines.line_num}: {cells[0]} has a value already")
            found[cells[0]] = cells[1] if texts else _plain(cells[1])
    except csv.Error as error:
        raise InvalidMapError(f"{name}, line {lines.line_num}: {error}") from None
    return found


def _plain(text: str) -> Any:
    """Return a number or a truth value of a field that has no texts."""
    return int(text) if NUMBER.fullmatch(text) else {"true": True, "false": False}.get(text, text)
