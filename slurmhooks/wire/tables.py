# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables that messages are packed and read by: one per struct of Slurm, written by the build.

The build (native/generate/tables.py) writes the same tables twice: as C with offsets, for native/wire, and as the text
that this module reads. A message names its tables by their identity, a hash of that text, so a recorded message can be
read without Slurm, on another machine and by another release, as long as the text is kept with it.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from slurmhooks.errors import SlurmhooksError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WIDTHS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "time": 64, "pointer": 1}
"""Kinds of members that are numbers, each with its width in bits; a pointer is 1 if it is not NULL."""
KINDS = (*WIDTHS, "text", "texts")
"""Kinds of members; a text is a ``char *``, texts are a ``char **`` with a counter beside it."""
FILE_NAME = "slurmhooks.table"
"""Name of the file with the text, which is beside the compiled modules."""
_FIRST_LINE = "slurmhooks table 1"


class TableError(SlurmhooksError):
    """A text is not a table, or not in the format that this release of slurmhooks reads."""


class Member(NamedTuple):
    """One member of a struct.

    Attributes:
        name: as in Slurm's headers; ``details.extra`` is a member of what ``details`` points to.
        kind: one of KINDS.
        writable: an answer may assign it.
    """

    name: str
    kind: str
    writable: bool = False


class Table:
    """The members of one struct; messages refer to them by their indices.

    Attributes:
        name: of the struct, as in STRUCTS of native/generate/tables.py.
        members: in the order of the slots of a packed struct.
        places: the index of each member by its name.
        via: for each member, the index of the pointer through which it is reached, or None.
        index: the index, the pointer's index, and the kind of each member, by its name.
        size: of the slots of a packed struct, in bytes.
    """

    def __init__(self, name: str, members: tuple[Member, ...]) -> None:
        self.name = name
        self.members = members
        self.size = 8 * len(members)
        self.places: Mapping[str, int] = {member.name: index for index, member in enumerate(members)}
        if len(self.places) != len(members):
            raise TableError(f"table {name}: a member appears twice")
        outer = (member.name.rpartition(".")[0] for member in members)
        pointers = {name: index for name, index in self.places.items() if members[index].kind == "pointer"}
        self.via = tuple(pointers.get(name) for name in outer)
        kinds = (member.kind for member in members)
        rows = zip(self.places.values(), self.via, kinds, strict=True)
        self.index: Mapping[str, tuple[int, int | None, str]] = dict(zip(self.places, rows, strict=True))


class Tables:
    """All tables of one build.

    Attributes:
        release: of Slurm, such as ``24.11.5``.
        tier: ``public`` or ``source``, depending on the headers of the build; or ``testing``.
        tables: messages refer to them by their indices here; ``job`` is the first.
        constants: Slurm's constants and error codes, by group and name.
        text: what the build wrote.
        identity: of the text; 64 bits.
    """

    def __init__(
        self,
        release: str,
        tier: str,
        tables: tuple[Table, ...],
        constants: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        self.release = release
        self.tier = tier
        self.tables = tables
        self.constants = {} if constants is None else constants
        self._places = {table.name: place for place, table in enumerate(tables)}
        self.text = "".join(f"{line}\n" for line in self._lines())
        self.identity = int.from_bytes(hashlib.sha256(self.text.encode()).digest()[:8], "big")

    def _lines(self) -> Iterable[str]:
        yield _FIRST_LINE
        yield f"release {self.release} {self.tier}"
        for table in self.tables:
            yield f"table {table.name}"
            for member in table.members:
                yield f"{member.kind} {member.name}" + (" writable" if member.writable else "")
        for group, values in self.constants.items():
            yield " ".join(["constants", group, *(f"{name}={value}" for name, value in values.items())])

    def __getitem__(self, name: str) -> Table:
        """Return a table by its name; KeyError if this build has none."""
        return self.tables[self._places[name]]

    def place(self, name: str) -> int:
        """Return the number by which messages refer to a table; KeyError if this build has none."""
        return self._places[name]

    def __contains__(self, name: str) -> bool:
        """Tell whether this build has a table."""
        return name in self._places


def parse(text: str) -> Tables:
    """Return the tables of a text that a build wrote.

    Raises:
        TableError: the text is not a table.
    """
    lines = text.splitlines()
    if len(lines) < 2 or lines[0] != _FIRST_LINE:
        raise TableError(f"not a table of slurmhooks: the first line is {lines[:1]}, not {_FIRST_LINE!r}")
    members: dict[str, list[Member]] = {}
    constants: dict[str, dict[str, int]] = {}
    current: list[Member] | None = None
    try:
        _, release, tier = lines[1].split(" ")
        for line in lines[2:]:
            word, name, *rest = line.split(" ")
            if word == "table":
                current = members[name] = []
            elif word == "constants":
                pairs = (item.split("=") for item in rest)
                constants[name] = {key: int(value) for key, value in pairs}
            elif word in KINDS and current is not None and rest in ([], ["writable"]):
                current.append(Member(name, word, bool(rest)))
            else:
                raise ValueError(line)
        tables = Tables(release, tier, tuple(Table(name, tuple(rows)) for name, rows in members.items()), constants)
    except ValueError as error:
        raise TableError(f"not a table of slurmhooks: {error}") from None
    if tables.text != text:
        raise TableError("not a table of slurmhooks: it is not as a build writes it")
    return tables


@cache
def installed() -> Tables | None:
    """Return the tables of the plugin that this process serves; None in a process that slurmctld did not start.

    The plugin names its folder as an option of the interpreter (``-X slurmhooks_plugins=DIR``).

    Raises:
        TableError: the tables cannot be read, or are not in the format of this release of slurmhooks.
    """
    folder = sys._xoptions.get("slurmhooks_plugins")
    return _of_folder(folder) if isinstance(folder, str) else None


@cache
def _of_folder(folder: str) -> Tables:
    """Read the tables of a plugin, once: this process may no longer be able to when it reports a wrong code."""
    try:
        with open(f"{folder}/{FILE_NAME}", encoding="utf-8") as file:
            return parse(file.read())
    except (OSError, UnicodeError, TableError) as error:
        raise TableError(f"the plugin's tables cannot be read: {error}; run 'slurmhooks install' again") from None
