# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the file that slurmhooks.bytecode reads."""

import ast
import importlib.util
import marshal
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from slurmhooks import bytecode
from slurmhooks.cli import _site

WITHOUT_DOCSTRINGS = 2
"""For compile(): leaves assertions out, too."""
ERRORS = "slurmhooks.errors"
MODULES = (
    "slurmhooks",
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
    "slurmhooks.trusted",
    "slurmhooks.values",
    "slurmhooks.view",
)
"""What srun and slurmstepd import for handlers and scripts, given a manifest, and scrun's anchor for any handler."""


def render(modules: Iterable[str] = MODULES) -> bytes:
    """Return the content of the file."""
    files = {name: Source(name) for name in modules}
    entries: dict[str, bytecode.Entry] = {}
    codes = b""
    for name, source in files.items():
        code = marshal.dumps(source.code)
        status = os.stat(source.path)
        place = (len(codes), len(codes) + len(code))
        needs = tuple(_needs(name, files))[:-1]
        entries[name] = (status.st_size, status.st_mtime_ns, source.is_package, needs, *place)
        codes += code
    header = marshal.dumps((bytecode.FORMAT, bytecode.HEADER + len(codes), entries))
    assert len(header) <= bytecode.HEADER
    return header.ljust(bytecode.HEADER, b"\0") + codes


class Source:
    """A module as launches have it: a launch pays for each text that only readers need, and for each page.

    Attributes:
        path: of its file.
        is_package: whether it is one.
        code: of it.
        imports: the modules that it imports when it is run, and the packages that these are in.
    """

    def __init__(self, name: str) -> None:
        """Read and compile a module."""
        # Not imported: slurmhooks.spank.entry takes a process of Slurm's.
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        self.path = spec.origin
        self.is_package = spec.submodule_search_locations is not None
        tree: ast.Module = _AtRunTime().visit(ast.parse(Path(self.path).read_bytes(), self.path))
        _import_errors_when_raised(tree)
        self.code = compile(tree, self.path, "exec", dont_inherit=True, optimize=WITHOUT_DOCSTRINGS)
        self.imports: list[str] = []
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                package = node.module.rpartition(".")[0]
                self.imports += [package, *named]


def _needs(name: str, files: Mapping[str, Source], found: dict[str, None] | None = None) -> Iterable[str]:
    """Return a module after all that it imports, but for the outermost package, which is there before all in it."""
    found = {} if found is None else found
    for wanted in files[name].imports:
        if wanted in files and "." in wanted and wanted not in found:
            _needs(wanted, files, found)
    found[name] = None
    return found


class _AtRunTime(ast.NodeTransformer):
    """Leaves of a module what counts at run time: no annotations, and nothing under ``if TYPE_CHECKING``."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        # Of features it has only annotations, which are gone.
        return ast.copy_location(ast.Pass(), node) if node.module == "__future__" else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.AST]:
        test = ast.unparse(node.test)
        if test not in ("TYPE_CHECKING", "not TYPE_CHECKING"):
            return self.generic_visit(node)
        kept = node.orelse if test == "TYPE_CHECKING" else node.body
        return [self.visit(statement) for statement in kept] or ast.copy_location(ast.Pass(), node)


def _import_errors_when_raised(tree: ast.Module) -> None:
    """Have a module import exceptions where it names them, not before.

    Their classes take long to make, and few launches raise any. A module that makes a subclass of one needs it at once.
    """
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == ERRORS]
    names = {alias.name for node in imports for alias in node.names if alias.asname is None}
    at_once = _AtOnce()
    at_once.visit(tree)
    if names & at_once.names:
        return
    tree.body = [node for node in tree.body if node not in imports]
    _WhenNamed(names).visit(tree)
    ast.fix_missing_locations(tree)


class _AtOnce(ast.NodeVisitor):
    """Collects the names that a module uses when it is run, outside of its functions."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)


class _WhenNamed(ast.NodeTransformer):
    """Puts an import in the place of each of some names."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names:
            return node
        spelled = f"__import__({ERRORS!r}, None, None, ({node.id!r},)).{node.id}"
        return ast.copy_location(ast.parse(spelled, mode="eval").body, node)


def write(package: str = os.path.dirname(bytecode.__file__)) -> None:
    """Put the file in place, in one step.

    Args:
        package: the folder of slurmhooks.

    Raises:
        OSError: it cannot be written.
    """
    _site.replace(Path(bytecode.file_of(package)), render(), 0o644)
