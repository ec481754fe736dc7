# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the burst_buffer.lua of a set."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.config.controller import pool_of
from slurmhooks.hooks.points import POINTS

if TYPE_CHECKING:
    from slurmhooks.config.controller import BurstBuffer
    from slurmhooks.handlers.registry import Registry

FILE_NAME = ".burst_buffer.lua"
"""A hidden file of the set, which is no part of its content."""
FUNCTIONS = {spec.function.removeprefix("slurm_bb_").removesuffix("()"): spec for spec in POINTS["burst_buffer"].hooks}
"""The hooks by Slurm's functions, without what all begin with."""
TEMPLATE = Path(__file__).with_name("burst_buffer.lua")
LINK = "burst_buffer.lua"
"""The name of Slurm's script, beside slurm.conf."""
PRINTABLE = set(range(0x20, 0x7F))


def render(program: Path, section: BurstBuffer, registry: Registry) -> bytes:
    """Return the script for the handlers of a set; functions without handlers start no process."""
    rows = [dict(zip(("id", "quantity", "granularity"), pool_of(text), strict=True)) for text in section.pools]
    functions = [f"{name} = {bool(registry.handlers(spec.name))}".lower() for name, spec in FUNCTIONS.items()]
    values = {
        "PROGRAM": _quoted(shlex.quote(str(program))),
        "POOLS": _quoted(json.dumps({"pools": rows}) if rows else ""),
        "VARIABLES": _quoted("".join(f"{text}\n" for text in section.environment)),
        "FUNCTIONS": f"{{{', '.join(functions)}}}",
    }
    text = TEMPLATE.read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text.encode()


def is_linked(sysconfdir: Path) -> bool:
    """Tell whether the script of Slurm is that of the set in force; the set may be one that is not there yet."""
    return os.path.basename(os.path.realpath(sysconfdir / LINK)) == FILE_NAME


def _quoted(text: str) -> str:
    """Return a text as a literal of Lua, of any version."""
    plain = PRINTABLE - set(b'"\\@')  # nor what the template replaces
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03}" for byte in text.encode()) + '"'
