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
OWN = tuple(f"_slurmhooks_{point}" for point in ("spank", "cli_filter", "scrun", "node"))
"""The compiled modules, in the folder of the core library, which is the first of the search path."""
ANNOTATED = ("slurmhooks.node.checks",)
"""The modules that say by the annotations of their functions what these take."""
BACKEND = "_cffi_backend"
"""cffi's module, which that of the SPANK plugin imports; a launch needs no other installed module."""
LOAD = """
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder, spec_from_file_location

spec = spec_from_file_location(__name__, {file})
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
"""Loads a compiled module from a file, without listing the folders of the search path, unless it is not there."""


class ForLaunches(ast.NodeTransformer):
    """Removes what only type checkers read; otherwise each launch would decode it, like docstrings."""

    def __init__(self, module: str) -> None:
        """Say of which module the tree is."""
        self._annotated = module in ANNOTATED

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Replace a test of TYPE_CHECKING by what runs."""
        self.generic_visit(node)
        match node.test:
            case ast.Name("TYPE_CHECKING"):
                return node.orelse or ast.copy_location(ast.Pass(), node)
            case ast.UnaryOp(ast.Not(), ast.Name("TYPE_CHECKING")):
                return node.body
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Remove the annotation of an argument."""
        if not self._annotated:
            node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove the annotation of the result."""
        if not self._annotated:
            node.returns = None
        return self.generic_visit(node)


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
    tree = ForLaunches(module.name).visit(ast.parse(module.path.read_bytes(), module.path))
    body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    flags = __future__.annotations.compiler_flag if len(body) < len(tree.body) else 0
    places = f"__file__ = {str(module.path)!r}\n"
    if module.is_package:
        places += f"__path__ = [{str(module.path.parent)!r}]\n"
    tree.body = [*ast.parse(places).body, *body]
    return marshal.dumps(compile(tree, module.path, "exec", flags, dont_inherit=True, optimize=WITHOUT_DOCSTRINGS))


def loaders(paths: str) -> dict[str, bytes]:
    """Return the marshalled code that loads compiled modules, by their names."""
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    files = {name: f"sys.path[0] + {f'/{name}{suffix}'!r}" for name in OWN}
    spec = importlib.machinery.PathFinder.find_spec(BACKEND, paths.split(os.pathsep) if paths else None)
    if spec is not None and spec.origin is not None:
        files[BACKEND] = repr(spec.origin)
    return {
        name: marshal.dumps(compile(LOAD.format(file=file), __file__, "exec", dont_inherit=True))
        for name, file in files.items()
    }


def render(frozen: dict[str, bytes], packages: set[str]) -> str:
    """Return the C source: a text for each module, which compilers read faster than numbers, and the table of all."""
    arrays, rows = [], []
    for name, code in frozen.items():
        symbol = name.replace(".", "_")
        text = "".join(map("\\{:03o}".format, code))
        arrays.append(f'static const unsigned char {symbol}[] = "{text}";\n')
        members = f'.name = "{name}", .code = {symbol}, .size = sizeof({symbol}) - 1'
        rows.append(f"    {{{members}, .is_package = {int(name in packages)}}},\n")
    table = "const struct _frozen slurmhooks_frozen_modules[] = {\n" + "".join(rows) + "    {.name = NULL},\n};\n"
    return "\n".join(["#include <Python.h>\n", '#include "embed/frozen.h"\n', *arrays, table])


def main(output: Path, depfile: Path, package: Path, paths: str) -> None:
    """Write the C source, and its dependencies for ninja; see the module for the arguments."""
    found = list(modules(package))
    frozen = {module.name: code_of(module) for module in found} | loaders(paths)
    output.write_text(render(frozen, {module.name for module in found if module.is_package}))
    depfile.write_text(f"{output}: {' '.join(str(module.path) for module in found)}\n")


if __name__ == "__main__":
    target, dependencies, folder, search_path = sys.argv[1:]
    main(Path(target), Path(dependencies), Path(folder), search_path)
