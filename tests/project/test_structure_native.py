# SPDX-License-Identifier: GPL-2.0-or-later
"""Which C file includes which, read from the sources."""

import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

from slurmhooks.hooks.points import POINTS

NATIVE = Path(__file__).parents[2] / "native"

LAYERS = (
    ("log", "entry", "build_config", "protocol", "trusted", "checksum"),
    ("wire", "client", "embed", "manifest"),
    ("stub", "python", "slurmctld"),
    (*POINTS, "actions", "own_lua", "submission"),
)
"""Folders and files of native/. A file includes from lower layers and its own folder: never from a higher layer, and
never from another folder of its layer, so that no plugin point depends on another one."""

GENERATED = {"build_config.h", "protocol.h"}

INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


def c_files() -> dict[str, str]:
    """Return the text of each C file and header of native/ by its path from there."""
    paths = sorted(NATIVE.rglob("*.[ch]"))
    assert paths
    return {path.relative_to(NATIVE).as_posix(): path.read_text() for path in paths}


def includes(text: str) -> list[str]:
    """Return the files of native/ that a file includes, in order; Slurm's own sources are left out."""
    return [name for name in INCLUDE.findall(text) if name in GENERATED or (NATIVE / name).exists()]


def component(name: str) -> str:
    """Return the folder of native/ that a file is in, or its own name without a suffix if it is in none."""
    return name.split("/", maxsplit=1)[0].removesuffix(".c").removesuffix(".h")


def layer(name: str) -> int:
    """Return the layer of a file."""
    for number, components in enumerate(LAYERS):
        if component(name) in components:
            return number
    raise AssertionError(f"native/{name} is in no layer: add {component(name)} to LAYERS of {__file__}")


def own_header(name: str) -> str:
    """Return the name that the header of a C file has."""
    return name.removesuffix(".c") + ".h"


def test_includes_name_their_folder() -> None:
    """A file of native/ is included by its path from there: the line shows the component that it belongs to."""
    names = {path.name for path in NATIVE.rglob("*.h")}
    wrong = [
        f"{name} includes {other}"
        for name, text in c_files().items()
        for other in INCLUDE.findall(text)
        if "/" not in other and other in names and not (NATIVE / other).exists()
    ]
    assert wrong == []


def test_includes_run_one_way() -> None:
    """A component includes only lower layers and itself; components of one layer do not include each other."""
    wrong = [
        f"{name} includes {other}"
        for name, text in c_files().items()
        for other in includes(text)
        if component(name) != component(other) and layer(other) >= layer(name)
    ]
    assert wrong == []


def test_no_header_includes_itself_by_way_of_others() -> None:
    """There is no cycle of includes."""
    TopologicalSorter({name: includes(text) for name, text in c_files().items()}).prepare()


def test_a_file_includes_its_own_header_first() -> None:
    """A header compiles on its own, without other includes before it."""
    files = c_files()
    wrong = [
        name
        for name, text in files.items()
        if name.endswith(".c")
        and own_header(name) in files
        and re.findall(r'^#include [<"]([^">]+)[">]$', text, re.MULTILINE)[0] != own_header(name)
    ]
    assert wrong == []


def test_headers_hold_no_code() -> None:
    """Code is compiled once, in a C file that a header declares.

    Only small functions are `static inline` in a header.
    """
    static = re.compile(r"^static (?!inline\b|const\b)", re.MULTILINE)
    assert [name for name, text in c_files().items() if name.endswith(".h") and static.search(text)] == []


ENTRY_POINT = re.compile(r"^(?:extern|EXPORTED) [^;{}()]*\b\w+\([^;{}]*\)\n\{\n(.*)\n", re.MULTILINE)
KEEPS = re.compile(
    r"    (?:LEAVES_ERRNO\(errno\);|return (?:finish|run|modify)\(.*|struct slurmhooks_event event = \{.*)"
)
"""LEAVES_ERRNO, or a call of the function of the file that has it."""


def test_entry_points_keep_errno() -> None:
    """What Slurm calls leaves errno alone, in builds with Slurm's sources, too; tests/native shows it for the others.

    job_submit() and job_modify() set it to 0.
    """
    found = {
        (name, first)
        for name, text in c_files().items()
        if name.endswith("_python.c")
        for first in ENTRY_POINT.findall(text)
    }
    assert len({name for name, _ in found}) >= 5
    assert [(name, first) for name, first in found if not KEEPS.fullmatch(first)] == []


def test_a_name_has_one_definition() -> None:
    """No two files define an include guard, a struct, an enum or a union of the same name: a file may include both."""
    definition = re.compile(r"^#ifndef (\w+_H)$|^(?:typedef |extern |static )*(?:struct|enum|union) (\w+) \{$", re.M)
    names = [guard or tag for text in c_files().values() for guard, tag in definition.findall(text)]
    assert len(names) > len(c_files()) / 2
    assert [name for name, count in Counter(names).items() if count > 1] == []
