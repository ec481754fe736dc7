#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the modules that a launch imports as C source, for ``PyImport_FrozenModules``.

Usage: frozen.py OUTPUT DEPFILE PACKAGE PATHS. Must run in the Python that the plugins embed. PACKAGE is the folder of
slurmhooks that this Python imports, PATHS the search path of the embedded interpreter (empty: that of this Python).

So the C code and the Python modules of a build are in one file, and launches do not search the disk for modules.
"""

import __future__

import ast
import importlib.machinery
import importlib.util
import marshal
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ENCODINGS = ("encodings", "encodings.aliases", "encodings.utf_8")
"""Modules that CPython imports when it starts and does not freeze itself."""
FOLDERS = (".", "hooks", "files", "handlers", "config", "site", "spank", "cli_filter", "scrun", "node", "lua", "entry")
"""The packages of slurmhooks that an embedded interpreter imports."""
WITHOUT_DOCSTRINGS = 2
"""For ``compile()``: without docstrings and assertions."""
COLUMNS = 24
BACKEND = "_cffi_backend"
"""cffi's module, which the compiled module of the SPANK plugin imports; a launch needs no other installed module."""
LOAD_BACKEND = """
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder, spec_from_file_location

spec = spec_from_file_location(__name__, {file!r})
try:
    module = module_from_spec(spec)
except ImportError:
    spec = PathFinder.find_spec(__name__)
    if spec is None:
        raise
    module = module_from_spec(spec)
sys.modules[__name__] = module
spec.loader.exec_module(module)
"""
"""Loads it from where it was at build time, without listing the folders of the search path, unless it has moved."""


class Module(NamedTuple):
    """A module to freeze."""

    name: str
    path: Path
    is_package: bool


def modules(package: Path) -> Iterator[Module]:
    """Yield all modules to freeze."""
    for name in ENCODINGS:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            sys.exit(f"{sys.executable} has no source file of {name}")
        yield Module(name, Path(spec.origin), spec.submodule_search_locations is not None)
    for folder in FOLDERS:
        for path in sorted((package / folder).glob("*.py")):
            words = path.relative_to(package.parent).with_suffix("").parts
            is_package = words[-1] == "__init__"
            yield Module(".".join(words[:-1] if is_package else words), path, is_package)


def code_of(module: Module) -> bytes:
    """Return the marshalled code of a module.

    The code sets ``__file__`` and ``__path__``: CPython would otherwise set them as if the module were in the standard
    library. ``from __future__ import annotations`` becomes a compiler flag: as an import it would make each launch read
    a file.
    """
    tree = ast.parse(module.path.read_bytes(), module.path)
    body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    flags = __future__.annotations.compiler_flag if len(body) < len(tree.body) else 0
    places = f"__file__ = {str(module.path)!r}\n"
    if module.is_package:
        places += f"__path__ = [{str(module.path.parent)!r}]\n"
    tree.body = [*ast.parse(places).body, *body]
    return marshal.dumps(compile(tree, module.path, "exec", flags, dont_inherit=True, optimize=WITHOUT_DOCSTRINGS))


def backend(paths: str) -> dict[str, bytes]:
    """Return the marshalled code that loads BACKEND, by its name; nothing if this Python does not have it."""
    spec = importlib.machinery.PathFinder.find_spec(BACKEND, paths.split(os.pathsep) if paths else None)
    if spec is None or spec.origin is None:
        return {}
    source = LOAD_BACKEND.format(file=spec.origin)
    return {BACKEND: marshal.dumps(compile(source, spec.origin, "exec", dont_inherit=True))}


def render(frozen: dict[str, bytes], packages: set[str]) -> str:
    """Return the C source: an array for each module, and the table of modules.

    Args:
        frozen: the marshalled code of each module by its name.
        packages: names of those that are packages.
    """
    arrays, rows = [], []
    for name, code in frozen.items():
        symbol = name.replace(".", "_")
        lines = [", ".join(map(str, code[at : at + COLUMNS])) for at in range(0, len(code), COLUMNS)]
        arrays.append(f"static const unsigned char {symbol}[] = {{\n    " + ",\n    ".join(lines) + ",\n};\n")
        members = f'.name = "{name}", .code = {symbol}, .size = sizeof({symbol})'
        rows.append(f"    {{{members}, .is_package = {int(name in packages)}}},\n")
    table = "const struct _frozen slurmhooks_frozen_modules[] = {\n" + "".join(rows) + "    {.name = NULL},\n};\n"
    return "\n".join(["#include <Python.h>\n", '#include "embed/frozen.h"\n', *arrays, table])


def main(output: Path, depfile: Path, package: Path, paths: str) -> None:
    """Write the C source, and its dependencies for ninja."""
    found = list(modules(package))
    frozen = {module.name: code_of(module) for module in found} | backend(paths)
    output.write_text(render(frozen, {module.name for module in found if module.is_package}))
    depfile.write_text(f"{output}: {' '.join(str(module.path) for module in found)}\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), sys.argv[4])
