# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of slurmhooks.toml, from which the model and the check of launches are made.

A launch without a manifest imports this module instead of the model, because the model imports pydantic, which takes
longer than the rest of a launch. Type checkers see a model here, too; slurmhooks.config.sections makes it.
"""

from __future__ import annotations

from slurmhooks.log import DEBUG3, LEVELS, LIMIT, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pydantic import BaseModel

    Table = BaseModel
else:

    class Table:
        """A table of the file: its attributes are keys."""


BOOL, INT, FLOAT, TEXT, TEXTS, SIZE, SIZE_OR_UNLIMITED = range(7)
"""The kinds of values. A size is a number of bytes, or a text with a unit."""
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Key:
    """A key of a table.

    Attributes:
        kind: one of the kinds above.
        default: the value if the file does not have the key.
        description: a text for the reference.
        least: the smallest number that is valid; None: no limit.
        most: the largest number that is valid; None: no limit.
        words: the only valid texts; empty: all that are not empty are valid.
        check: returns a valid text or None, and raises ValueError for any other text; None: no check.
    """

    __slots__ = ("check", "default", "description", "kind", "least", "most", "words")

    def __init__(
        self,
        kind: int,
        default: Any,
        description: str,
        least: float | None = None,
        most: float | None = None,
        *,
        words: tuple[str, ...] = (),
        check: Callable[[str | None], str | None] | None = None,
    ) -> None:
        self.kind = kind
        self.default = default
        self.description = description
        self.least = least
        self.most = most
        self.words = words
        self.check = check

    def is_valid(self, value: object) -> bool:
        """Tell whether a value is valid as it is; otherwise the model decides, and says what is wrong."""
        if self.kind == TEXTS:
            return type(value) is list and all(map(self._is_text, value))
        if self.kind == TEXT:
            return self._is_text(value)
        if self.kind == BOOL:
            return type(value) is bool
        if self.kind >= SIZE:
            try:
                value = size(value)
            except ValueError:
                return False
            if value is None:
                return self.kind == SIZE_OR_UNLIMITED
        if type(value) is not int and (type(value) is not float or self.kind != FLOAT):
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def convert(self, value: Any) -> Any:
        """Return what a valid value means to the model."""
        if self.kind == TEXTS:
            return tuple(value)
        if self.kind == FLOAT:
            return float(value)
        return size(value) if self.kind >= SIZE else value

    def _is_text(self, value: object) -> bool:
        if type(value) is not str or not value or "\0" in value or (self.words and value not in self.words):
            return False
        try:
            return self.check is None or self.check(value) is not None
        except ValueError:
            return False


key: Callable[..., Any] = Key
"""The same; type checkers take its result for a value."""


def size(value: Any) -> Any:
    """Convert a size such as ``"512MiB"`` to bytes, and "unlimited" to None; return other values as they are."""
    if not isinstance(value, str):
        return value
    if value == "unlimited":
        return None
    number, unit = value[:-3].strip(), UNITS.get(value[-3:])
    if unit is None or not number.isdecimal():
        raise ValueError(f"must be bytes, a size such as 512MiB (in {', '.join(UNITS)}) or unlimited")
    return int(number) * unit


def size_text(number: int) -> str:
    """Return a number of bytes as a file may have it, in the largest unit without a rest."""
    unit = next((unit for unit in reversed(UNITS) if number % UNITS[unit] == 0), None)
    return f"{number} bytes" if unit is None else f"{number // UNITS[unit]}{unit}"


class Hooks(Table):
    """``[hooks]``: the sources of handlers."""

    paths: tuple[str, ...] = key(TEXTS, (), "hook files, as globs; relative to this file")
    modules: tuple[str, ...] = key(TEXTS, (), "import names of installed packages that contain handlers")
    packages: tuple[str, ...] = key(TEXTS, (), "folders of packages that hook files may import; relative to this file")
    data: tuple[str, ...] = key(
        TEXTS,
        (),
        "other files that handlers read, as globs, for 'slurmhooks deploy'; relative to this file",
    )
    require: tuple[str, ...] = key(
        TEXTS, (), 'handlers without which no configuration goes into service, as in ["limits:require_account"]'
    )


class Scrun(Table):
    """``[scrun]``: for scrun."""

    lua: str | None = key(
        TEXT, None, "the site's own scrun.lua under another name, to run after the handlers; relative to this file"
    )


class CliFilter(Table):
    """``[cli_filter]``: for sbatch, salloc, srun and scrontab."""

    lua: str | None = key(TEXT, None, "a cli_filter.lua to run besides the hook files; relative to this file")


class Lua(Table):
    """``[lua]``: for Lua scripts."""

    version: str | None = key(
        TEXT,
        None,
        "the Lua version that runs them; by default that of Slurm's own Lua plugins",
        words=("5.1", "5.2", "5.3", "5.4", "5.5", "luajit", "luajit2.0", "luajit2.1"),
    )


class Log(Table):
    """``[log]``: what is written to Slurm's log."""

    level: str = key(
        TEXT, LEVELS[DEBUG3], "the lowest level at which lines of handlers are passed on to Slurm", words=LEVELS[:USER]
    )
    limit: int = key(
        INT, LIMIT, "maximal size in bytes of a record, and of a message to the user; longer ones are cut", 256, 1 << 20
    )


class Tables(Table):
    """The tables that launches read, by their names in the file; slurmhooks.config.controller has the others."""

    hooks: Hooks = Hooks()
    cli_filter: CliFilter = CliFilter()
    scrun: Scrun = Scrun()
    lua: Lua = Lua()
    log: Log = Log()


def tables(file: type) -> dict[str, type]:
    """Return the classes of tables by their names in the file."""
    return {name: type(table) for name, table in vars(file).items() if isinstance(table, Table)}


TABLES = tables(Tables)


def rows(table: type) -> dict[str, Key]:
    """Return the keys of a table by name, those of its bases first."""
    return {name: row for base in table.__mro__[::-1] for name, row in vars(base).items() if isinstance(row, Key)}
