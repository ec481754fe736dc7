# SPDX-License-Identifier: GPL-2.0-or-later
"""Compile the targets that are written in C: for libFuzzer with clang, and to replay files with any compiler."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.native.building import ROOT, BuildError, locked, slurm_include

HERE = Path(__file__).parent
NATIVE = ROOT / "native"
FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-function", "-g", "-O1")
SANITIZERS = "address,undefined"


@dataclass(frozen=True)
class Target:
    """A target in C.

    ``sources`` are those of native/ that it calls, with ``defines``; ``tables``: it needs those that the build writes.
    """

    name: str
    sources: tuple[str, ...]
    fakehost: tuple[str, ...] = ()
    tables: bool = False
    defines: tuple[str, ...] = ()


TARGETS = [
    Target("manifest", ("manifest/parse.c", "manifest/record.c")),
    Target("trusted_path", ()),
    Target("wire_answer", ("wire/apply.c", "wire/pack.c"), ("memory.c", "output.c"), tables=True),
    Target(
        "wire_query",
        (
            *(f"slurmctld/{part}.c" for part in ("queries", "pages", "selection", "groups", "cursors")),
            "wire/apply.c",
            "wire/pack.c",
        ),
        ("memory.c", "output.c"),
        defines=("-DSLURMHOOKS_SOURCE",),
    ),
    Target("worker_messages", ("client/output.c",)),
]


def clang() -> str | None:
    """Return a clang that has libFuzzer, or None."""
    names = ["clang", *(f"clang-{version}" for version in range(22, 10, -1))]
    for path in filter(None, map(shutil.which, names)):
        command = [path, "-fsanitize=fuzzer", "-x", "c", "-", "-o", "/dev/null"]
        code = "int LLVMFuzzerTestOneInput(const char *data, long size) { return !data && size; }\n"
        if subprocess.run(command, input=code, text=True, capture_output=True, check=False).returncode == 0:
            return path
    return None


def wire_tables(folder: Path) -> Path:
    """Write the tables of Slurm's structs as C, as the build does."""
    source, text = folder / "wire_tables.c", folder / "slurmhooks.table"
    command = [sys.executable, str(NATIVE / "generate" / "tables.py"), "public", str(source), str(text), "--"]
    compile_with([*command, "cc", f"-I{slurm_include()}", f"-I{NATIVE}"])
    return source


def compile_with(command: list[str]) -> None:
    """Run a step of the build.

    Raises:
        BuildError: it fails; the message is the end of its output.
    """
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode:
        raise BuildError("\n".join([" ".join(command), *process.stdout.splitlines()[-40:]]))


def build(target: Target, fuzzer: str | None = None) -> Path:
    """Compile a target, and return the program.

    ``fuzzer`` is a clang, for a program that runs libFuzzer; None: a program that runs the files that it is given.

    Raises:
        BuildError: the sources do not compile.
        Unavailable: Slurm's headers are not here and cannot be downloaded.
    """
    folder = ROOT / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / (target.name if fuzzer else f"{target.name}-replay")
    sources = [HERE / f"{target.name}.c", *(NATIVE / name for name in target.sources)]
    sources += [ROOT / "tests" / "fakehost" / name for name in target.fakehost]
    if re.search(r"fuzz_message\(", sources[0].read_text()):
        sources.append(HERE / "message.c")
    with locked(folder / ".lock"):
        for name in ("protocol", "identity"):
            compile_with([sys.executable, str(NATIVE / "generate" / f"{name}.py"), str(folder / f"{name}.h")])
        if target.tables:
            sources.append(wire_tables(folder))
        # clang has a warning without a name for a weak symbol of weak.h that a target does not use.
        command = [*([fuzzer] if fuzzer else ["cc", "-Werror"]), *FLAGS, *target.defines]
        command += [f"-I{NATIVE}", f"-I{folder}", f"-I{HERE}", f"-I{HERE / 'slurm'}", f"-I{slurm_include()}"]
        command += [f"-fsanitize={SANITIZERS}" + (",fuzzer" if fuzzer else ""), "-fno-sanitize-recover=all", "-pthread"]
        command += [str(path) for path in (sources if fuzzer else [*sources, HERE / "replay.c"])]
        compile_with([*command, "-o", str(program)])
    return program
