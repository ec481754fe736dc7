# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the file that slurmhooks.bytecode reads."""

import importlib.util
import marshal
import os
from collections.abc import Iterable
from pathlib import Path

from slurmhooks import bytecode
from slurmhooks.cli import _site

MODULES = (
    "__future__",
    "slurmhooks.dispatch",
    "slurmhooks.errors",
    "slurmhooks.hook",
    "slurmhooks.loader",
    "slurmhooks.log",
    "slurmhooks.lua",
    "slurmhooks.lua.conversions",
    "slurmhooks.lua.library",
    "slurmhooks.lua.runtime",
    "slurmhooks.lua.spank",
    "slurmhooks.lua.spank_handle",
    "slurmhooks.lua.spank_options",
    "slurmhooks.manifest",
    "slurmhooks.outcome",
    "slurmhooks.plain_toml",
    "slurmhooks.registry",
    "slurmhooks.scrun",
    "slurmhooks.scrun.cancel",
    "slurmhooks.scrun.entry",
    "slurmhooks.scrun.model",
    "slurmhooks.site",
    "slurmhooks.spank",
    "slurmhooks.spank.entry",
    "slurmhooks.spank.fields",
    "slurmhooks.spank.model",
    "slurmhooks.spank.options",
    "slurmhooks.spank.rehearsal",
    "slurmhooks.values",
    "slurmhooks.view",
)
"""What srun and slurmstepd import for handlers and scripts, given a manifest, and scrun's anchor for any handler."""


def render(modules: Iterable[str] = MODULES) -> bytes:
    """Return the content of the file."""
    entries: dict[str, bytecode.Entry] = {}
    codes = b""
    for name in modules:
        # Not imported: slurmhooks.spank.entry takes a process of Slurm's.
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        status = os.stat(spec.origin)
        code = marshal.dumps(compile(Path(spec.origin).read_bytes(), spec.origin, "exec", dont_inherit=True))
        is_package = spec.submodule_search_locations is not None
        place = (len(codes), len(codes) + len(code))
        entries[name] = (spec.origin, status.st_size, status.st_mtime_ns, is_package, *place)
        codes += code
    return marshal.dumps((bytecode.FORMAT, len(codes), entries)) + codes + bytecode.END


def write(path: str = bytecode.FILE) -> None:
    """Put the file in place, in one step.

    Raises:
        OSError: it cannot be written.
    """
    _site.replace(Path(path), render(), 0o644)
