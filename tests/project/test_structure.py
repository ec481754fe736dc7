# SPDX-License-Identifier: GPL-2.0-or-later
"""The structure of the code, read from its sources."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from slurmhooks.hooks.points import POINTS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "slurmhooks"

LAYERS = (
    ("_version", "errors", "identity", "values", "namespaces", "programs"),
    ("log",),
    ("wire",),
    ("hooks",),
    ("files",),
    ("handlers",),
    ("config",),
    ("site",),
    ("fields",),
    ("recording",),
    ("processes",),
    ("collector",),
    ("worker",),
    ("slurmctld",),
    tuple(point.name for point in POINTS.values() if point.called),
    ("handover",),
    tuple(point.name for point in POINTS.values() if not point.called),
    ("lua",),
    ("rules",),
    ("entry",),
    ("types",),
    ("workshop.recorded",),
    ("workshop.testing",),
    ("testing",),
    ("workshop.accounting",),
    ("workshop.replay",),
    ("workshop.adopt",),
    ("workshop.port",),
    ("workshop.pytest_plugin",),
    ("pytest_plugin",),
    ("cli",),
    ("workshop.cli",),
)
"""Folders and modules of the package, and of the workshop in it, from the lowest layer up. A module imports from lower
layers and its own folder, also for type checkers; the package itself gathers what sites import."""

WORKSHOP = "slurmhooks.workshop"
PUBLISHED = {"slurmhooks.testing", "slurmhooks.pytest_plugin"}
"""Names of the workshop that sites use; they say what to install if it is missing."""
ENTRIES = {"slurmhooks.entry.spank", "slurmhooks.entry.scrun", "slurmhooks.entry.cli_filter", "slurmhooks.entry.node"}
"""What C calls, in the processes that run Python inside them."""
IN_THE_CORE = {"slurmhooks.handlers.deadline", "slurmhooks.entry.draining"}
"""Use a compiled module inside processes that C started Python in."""

BROAD = {
    "handlers/dispatch.py": 3,  # a handler's bug, a bug of an entry point, and one while a bug is reported
    "handlers/loader.py": 1,  # a hook file that cannot be imported
    "job_submit/judging.py": 1,  # a bug of a rule about jobs, in an update that may be none of its business
    "log.py": 1,  # a site's value whose repr() raises
    "scrun/tree_copy.py": 1,  # passes the exception of a thread to the caller that waits for it
    "collector/collection.py": 1,  # what a hostile worker reports
    "node/children.py": 1,  # what a health check raises
    "cli/commands/deploy.py": 1,  # --watch goes on, whatever an attempt raises
    "handlers/trace.py": 1,  # an exception of a site whose str() raises
    "worker/generation.py": 1,  # a forked process must not return into its parent's stack
    "processes/process.py": 1,  # the same
    "spank/options.py": 1,  # the check of an option, which Slurm calls outside every event
}
"""How many handlers of any exception a file may have that do not raise it again."""

LOADS = {"slurmhooks.handlers.loader.load", "slurmhooks.handlers.rollouts.assign"}
"""What turns files into handlers, and gives them the modes of the configuration."""

FILE = re.compile(r"(?<![\w/.~-])(?:slurmhooks|native|tests|tools)/[\w/-]+\.(?:py|c|h)\b")
OTHERS = (
    "slurmhooks.schema.",
    "slurmhooks.toml.",
    "slurmhooks.json.",
    "slurmhooks.spank.items",
    "slurmhooks.cli_filter.option_",
)
"""The beginnings of names of files of sites, of keys, and of stubs, which a program writes."""
NAME = re.compile(r"(?<![\w/.-])slurmhooks(?:\.[a-z_]+)+\.\w+")
"""A name in a module of the package, or a module in a folder of it."""
BANNER = re.compile(r"^\s*(#|//|/?\*)\s*[-=*#~_]{8,}", re.MULTILINE)
WITH_SPDX = {".py", ".c", ".h", ".build", ".options", ".toml", ".lua", ".yaml", ".yml", ".sh"}


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def modules() -> dict[str, Path]:
    """Return all modules of slurmhooks by their dotted names."""
    paths = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Return all statements, including those in functions and those for type checkers."""
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.expr):  # has no statements in it
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of slurmhooks that a file imports, also inside functions and for type checkers."""
    names = set()
    for statement in statements(parsed(path)):
        if isinstance(statement, ast.Import):
            names |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{path}:{statement.lineno}: relative import"
            base = statement.module or ""
            for alias in statement.names:
                inside = f"{base}.{alias.name}"
                names.add(inside if inside in known else base)
    return {name for name in names if name in known}


def folder(name: str) -> str:
    """Return the folder of the package or the workshop that a module is in, or the module itself if it is in none."""
    words = name.split(".")[1:]
    return ".".join(words[: 2 if words[:1] == ["workshop"] else 1])


def layer(name: str) -> int:
    """Return the number of the layer that a module is on."""
    for number, folders in enumerate(LAYERS):
        if folder(name) in folders:
            return number
    raise AssertionError(f"{name} is on no layer: put its folder into LAYERS of {__file__}")


def test_imports_run_one_way() -> None:
    """A module imports only from lower layers and its own folder."""
    known = modules()
    wrong = [
        f"{name} imports {other}"
        for name, path in known.items()
        for other in imports(path, known)
        if name != "slurmhooks"
        and (other == "slurmhooks" or (folder(other) != folder(name) and layer(other) >= layer(name)))
    ]
    # The command shows the version, which the package re-exports.
    assert [line for line in wrong if not line.startswith(("slurmhooks.cli ", "slurmhooks.cli."))] == []


def test_what_runs_on_a_cluster_needs_no_workshop() -> None:
    """Only published names import the workshop, which a machine may lack; the commands are looked up by its name."""
    known = modules()
    cluster = {name: path for name, path in known.items() if not name.startswith(WORKSHOP)}
    importing = {name for name, path in cluster.items() if any(it.startswith(WORKSHOP) for it in imports(path, known))}
    assert importing == PUBLISHED
    naming = {
        name
        for name, path in cluster.items()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and re.fullmatch(rf"{WORKSHOP}[.\w]*", str(node.value))
    }
    assert naming == PUBLISHED | {"slurmhooks.cli"}


def test_no_module_imports_itself_by_way_of_others() -> None:
    """There is no cycle of imports, not even inside functions or for type checkers."""
    known = modules()
    graph = {name: imports(path, known) - {name, "slurmhooks"} for name, path in known.items()}
    for name, path in known.items():
        if path.name == "__init__.py":
            graph[name] = {other for other in graph[name] if not other.startswith(f"{name}.")}
    TopologicalSorter(graph).prepare()


def below(folder: str, name: str) -> str:
    """Return the file or folder of a folder that a module is in."""
    return name.removeprefix(f"{folder}.").split(".")[0] if name != folder else "__init__"


def test_no_folder_imports_itself_by_way_of_others() -> None:
    """Seen from each folder, its files and folders have no cycle of imports either."""
    known = modules()
    for folder in (name for name, path in known.items() if path.name == "__init__.py" and name != "slurmhooks"):
        inside = [name for name in known if name == folder or name.startswith(f"{folder}.")]
        graph: dict[str, set[str]] = {}
        for name in inside:
            others = (below(folder, other) for other in imports(known[name], known) if other in inside)
            graph.setdefault(below(folder, name), set()).update(set(others) - {below(folder, name)})
        TopologicalSorter(graph).prepare()


def test_c_calls_entry_modules_only() -> None:
    """C calls only the entry module of each plugin."""
    called = set()
    for path in (ROOT / "native").rglob("*.[ch]"):
        text = path.read_text()
        called |= set(re.findall(r'slurmhooks_entry \w+ = \{"([\w.]+)"', text))
        for name in re.findall(r'PyImport_\w+\("([\w.]+)"', text):
            assert not name.startswith("slurmhooks"), f"{path} imports {name}"
    assert called == ENTRIES


def test_no_private_names_are_imported() -> None:
    """Names that begin with an underscore are used only in their own module."""
    wrong = [
        f"{name} imports {statement.module}.{alias.name}"
        for name, path in modules().items()
        for statement in statements(parsed(path))
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("slurmhooks")
        for alias in statement.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert wrong == []


def test_slurmctld_runs_no_python() -> None:
    """The plugins of slurmctld do not use the C API of CPython."""
    folders = ("slurmctld", "wire", "job_submit", *(name for name, point in POINTS.items() if point.key))
    sources = [path for folder in folders for path in (ROOT / "native" / folder).glob("*.[ch]")]
    assert sources
    for path in sources:
        assert not re.search(r'[<"]Python\.h[>"]|\bPy[A-Z_]\w*\(', path.read_text()), path


def test_only_entry_modules_need_compiled_code() -> None:
    """Only entry modules import compiled modules."""
    for name, path in modules().items():
        for statement in statements(parsed(path)):
            if isinstance(statement, ast.Import):
                compiled = [alias.name for alias in statement.names if alias.name.startswith("_slurmhooks")]
                assert not compiled or name in ENTRIES | IN_THE_CORE, f"{name} imports {compiled}"


def used(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the dotted names of functions and classes of slurmhooks that a file uses."""
    aliases = {}
    for statement in statements(parsed(path)):
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                full = f"{statement.module}.{alias.name}"
                aliases[alias.asname or alias.name] = full
                if full not in known:
                    yield full
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield f"{aliases[node.value.id]}.{node.attr}"


def test_there_is_one_loader() -> None:
    """Daemons, launches and commands load handlers through one module, so that none can load what another refuses."""
    known = modules()
    assert {name for name, path in known.items() if LOADS & set(used(path, known))} == {"slurmhooks.site.loading"}


def private(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Yield the private names of other modules that a file uses."""
    aliases = set()
    for statement in statements(parsed(path)):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("slurmhooks"):
            for alias in statement.names:
                if f"{statement.module}.{alias.name}" in known:
                    aliases.add(alias.asname or alias.name)
                elif alias.name.startswith("_") and not alias.name.startswith("__"):
                    yield f"{statement.module}.{alias.name}"
    attributes = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute))
    for node in attributes:
        is_private = node.attr.startswith("_") and not node.attr.startswith("__")
        if is_private and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield f"{node.value.id}.{node.attr}"


def test_private_names_stay_in_their_modules() -> None:
    """No module uses a name of another one that starts with an underscore."""
    known = modules()
    assert [f"{name} uses {used}" for name, path in known.items() for used in private(path, known)] == []


def broad(path: Path) -> list[int]:
    """Return the lines of ``except`` clauses that catch all exceptions and do not raise them again."""
    lines = []
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        names = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"Exception"}
        last = node.body[-1]
        if names & {"Exception", "BaseException"} and not (isinstance(last, ast.Raise) and last.exc is None):
            lines.append(node.lineno)
    return lines


def test_broad_excepts_are_few() -> None:
    """All exceptions are caught only where code of a site is called, or where an entry point returns to C."""
    broad_lines = {str(path.relative_to(PACKAGE)): lines for path in modules().values() if (lines := broad(path))}
    assert {name: len(lines) for name, lines in broad_lines.items()} == BROAD, broad_lines


def sources() -> Iterator[Path]:
    """Return all source files, without the inputs in tests/fuzz/corpus."""
    for folder in ("slurmhooks", "native", "tests", "contrib", "tools", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            hidden = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts[1:])
            if path.is_file() and not hidden and "corpus" not in path.parts:
                yield path


def is_script(path: Path) -> bool:
    """Tell whether a file starts with ``#!``."""
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def test_every_source_names_its_licence() -> None:
    """One SPDX line at the top: the first line, or the second of a script."""
    wrong = []
    for path in sources():
        if path.suffix in WITH_SPDX or is_script(path):
            lines = path.read_text().split("\n")
            if "SPDX-License-Identifier: GPL-2.0-or-later" not in lines[is_script(path)]:
                wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []


def exists(name: str, known: dict[str, Path]) -> bool:
    """Tell whether a dotted name is a module, or stands in the longest module that it begins with."""
    words = name.split(".")
    length = next(length for length in range(len(words), 0, -1) if ".".join(words[:length]) in known)
    return length == len(words) or bool(re.search(rf"\b{words[length]}\b", known[".".join(words[:length])].read_text()))


def test_what_comments_and_pages_name_exists() -> None:
    """Files and names of modules in docstrings, comments and pages of the guide are those of today."""
    known = modules()
    wrong = []
    for path in (*sources(), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")):
        if path.suffix in (".py", ".c", ".h", ".md"):
            text = path.read_text()
            lost = [name for name in FILE.findall(text) if not (ROOT / name).exists()]
            lost += [name for name in NAME.findall(text) if not name.startswith(OTHERS) and not exists(name, known)]
            wrong += [f"{path.relative_to(ROOT)} names {name}" for name in lost]
    assert wrong == []


def test_no_banners() -> None:
    """No file has lines of dashes."""
    names = [str(path.relative_to(ROOT)) for path in sources() if path.suffix in WITH_SPDX]
    assert [name for name in names if BANNER.search((ROOT / name).read_text())] == []
