# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads from a plugin what Slurm reads from it: the release that it was compiled for."""

import struct
from pathlib import Path
from typing import NamedTuple

from slurmhooks.cli import slurm

SYMBOL = b"plugin_version"
DYNSYM = 11
"""The type of the section with the symbols that a program can look up."""


class _Section(NamedTuple):
    """A row of an ELF file's table of sections."""

    type: int
    address: int
    offset: int
    size: int
    link: int
    entry: int


def release_of(path: Path) -> slurm.Version | None:
    """Return the release of Slurm that a plugin was compiled for, as Slurm itself finds it; None if it names none.

    Raises:
        OSError: the file cannot be read.
    """
    data = path.read_bytes()
    try:
        return _release(data)
    except (struct.error, IndexError, OverflowError, ValueError):  # damaged, or not a shared library
        return None


def _release(data: bytes) -> slurm.Version | None:
    if data[:4] != b"\x7fELF" or data[4] not in (1, 2):
        return None
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    word = "Q" if wide else "I"
    (table,) = struct.unpack_from(order + word, data, 40 if wide else 32)
    size, count = struct.unpack_from(order + "HH", data, 58 if wide else 46)
    sections = []
    for at in range(table, table + size * count, size):
        _, kind, _, address, offset, length, link, _, _, entry = struct.unpack_from(
            order + f"II{word * 4}II{word * 2}", data, at
        )
        sections.append(_Section(kind, address, offset, length, link, entry))
    for section in sections:
        if section.type == DYNSYM:
            for at in range(section.offset, section.offset + section.size, section.entry):
                if wide:
                    name, _, _, index, value, _ = struct.unpack_from(order + "IBBHQQ", data, at)
                else:
                    name, value, _, _, _, index = struct.unpack_from(order + "IIIBBH", data, at)
                start = sections[section.link].offset + name
                if data[start : data.index(b"\0", start)] == SYMBOL:
                    home = sections[index]
                    (number,) = struct.unpack_from(order + "I", data, home.offset + value - home.address)
                    return slurm.Version.of_number(number)
    return None
