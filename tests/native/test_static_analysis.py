# SPDX-License-Identifier: GPL-2.0-or-later
"""Static analysis finds nothing in the C sources: gcc's own analyzer, and clang-tidy with the checks of .clang-tidy."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.native.building import PLAIN, ROOT
from tests.native.conftest import built

GCC = 12
"""The first release whose analyzer follows calls well enough."""
CLANG_TIDY = ("clang-tidy", "clang-tidy-14")
FALSE = {
    # The analyzer loses track of the first texts of an array when it follows a loop a second time.
    "native/spank/lines.c": "-Wno-analyzer-malloc-leak",
    # The text belongs to a job, which free_job() frees; the analyzer loses track of the job in a pointer to void.
    "native/prep/prep_python.c": "-Wno-analyzer-malloc-leak",
}
"""Options for files in which gcc is wrong."""


def commands() -> dict[str, tuple[str, list[str]]]:
    """Return the folder and the command with which each source file of native/ is compiled, without generated files."""
    found = {}
    for entry in json.loads((built(PLAIN).host.parent / "compile_commands.json").read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT / "native"):
            found[str(path.relative_to(ROOT))] = entry["directory"], shlex.split(entry["command"])
    assert len(found) > 30
    return found


@pytest.mark.sanitized
@pytest.mark.slow
def test_gcc() -> None:
    """``gcc -fanalyzer`` finds no leak, no invalid pointer and no descriptor that stays open."""
    version = subprocess.run(["cc", "-dumpversion"], capture_output=True, text=True, check=True).stdout
    is_gcc = "Free Software Foundation" in subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout
    if not is_gcc or int(version.split(".")[0]) < GCC:
        pytest.skip(f"cc is not gcc {GCC} or later, so gcc's static analysis was left out")
    findings = ""
    for name, (folder, command) in commands().items():
        command[command.index("-o") + 1] = "/dev/null"
        for option in ("-MF", "-MQ"):
            del command[command.index(option) : command.index(option) + 2]
        command.remove("-MD")
        more = [FALSE[name]] if name in FALSE else []
        done = subprocess.run([*command, "-fanalyzer", *more], cwd=folder, capture_output=True, text=True, check=False)
        findings += done.stderr
        assert done.returncode == 0 or done.stderr
    assert not findings, findings


@pytest.mark.soak
def test_clang_tidy() -> None:
    """clang-tidy finds nothing; the file .clang-tidy says which checks are left out, and why."""
    program = next(filter(None, map(shutil.which, CLANG_TIDY)), None)
    if program is None:
        pytest.skip("clang-tidy is not installed, so its analysis was left out: apt-get install clang-tidy")
    sources = [str(ROOT / name) for name in commands()]
    command = [program, "--quiet", "-p", str(built(PLAIN).host.parent), *sources]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
