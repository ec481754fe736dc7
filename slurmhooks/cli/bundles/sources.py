# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds what hook files and scripts of a set may read outside of it, where changes take effect without a deployment."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from slurmhooks.cli.bundles.archive import File

LUA_PATH = re.compile(r"package\s*\.\s*c?path\s*=[^\n]*?[\"'](/[^\"'?]*)")


def outside(base: Path, files: Mapping[str, File]) -> list[str]:
    """Return a note for each place in Python files and Lua scripts that names a file that may not be in the set."""
    notes = []
    for name, file in sorted(files.items()):
        text = file.content.decode("utf-8", "replace")
        if name.endswith(".py"):
            notes += [f"{base / name}:{line}: {what}" for line, what in _of_python(text, base, files)]
        elif name.endswith(".lua"):
            notes += [
                f"{base / name}: package.path names {found}: what the script requires from there is not part of the set"
                for found in LUA_PATH.findall(text)
            ]
    return notes


def _of_python(text: str, base: Path, files: Mapping[str, File]) -> list[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # refused when the set is loaded
    found: dict[tuple[int, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__file__":
            found[node.lineno, "uses __file__: name in [hooks] data what it reads beside itself"] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(f"{base}/"):
            inside = node.value.removeprefix(f"{base}/")
            advice = "relative to __file__" if inside in files else "in [hooks] data, and relative to __file__"
            found[node.lineno, f"names {node.value}, which is not part of the set: name it {advice}"] = None
    return sorted(found)
