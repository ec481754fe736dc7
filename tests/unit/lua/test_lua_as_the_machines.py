# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts have the Lua of this machine: the same snippets have the same results in its liblua, without slurmhooks."""

import ctypes.util
import json
import random
import re
import string
import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks.lua import finding

DRIVER = Path(__file__).parent / "machines.py"
VERSIONS = ("5.1", "5.2", "5.3", "5.4", "5.5")
NUMBERS = (
    *("0", "-0.0", "1", "-1", "2", "3", "1e-9", "-1e-9", "0.5", "1.5", "-2.5", "10", "100", "1000", "-1000", "1e300"),
    *("1e308", "5e-324", "1/0", "-1/0", "0/0"),
)
OTHERS = ("'3'", "' 0x10 '", "'x'", "nil", "{}", "true", "2^53", "2^31", "2^63", "")
FIXED = [line for line in (DRIVER.parent / "snippets.lua").read_text().splitlines() if not line.startswith("--")]


def snippets(generator: random.Random) -> list[str]:
    """Return fixed and random snippets."""
    made = list(FIXED)
    for letter in string.ascii_letters + "%5":
        made += [f"return os.date('!{mark}{letter}', 951782400)" for mark in ("%", "%E", "%O")]
        made.append(f"return os.date('a %{letter} b %F %{letter}', 951782400)")
    for name in ("sinh", "cosh", "tanh", "log10", "frexp", "exp", "sqrt", "floor", "log", "abs"):
        made += [f"return math.{name}({number})" for number in NUMBERS + OTHERS]
    for name in ("pow", "ldexp", "atan2", "fmod"):
        made += [
            f"return math.{name}({', '.join(filter(None, generator.sample(NUMBERS + OTHERS, 2)))})" for _ in range(40)
        ]
    for name in ("sinh", "cosh", "tanh", "log10"):
        made += [f"return math.{name}({generator.gauss(0, 1) * 10 ** generator.randint(-12, 2)!r})" for _ in range(30)]
    for _ in range(60):
        flags = "".join(generator.sample("-+ #0", generator.randint(0, 2)))
        width = generator.choice(["", "5", "12", ".3", "9.2", ".0"])
        made.append(f"return ('%{flags}{width}{generator.choice('aAeg')}'):format({generator.choice(NUMBERS)})")
    return made


def ask(version: str, which: str, sources: list[str]) -> list[str]:
    """Return the line of each snippet."""
    done = subprocess.run(
        [sys.executable, str(DRIVER), version, which],
        input=json.dumps(sources), capture_output=True, text=True, errors="surrogateescape", check=False,
        env={"PATH": "/usr/bin:/bin", "TZ": "UTC", "PYTHONPATH": str(DRIVER.parents[3])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.replace("-nan", "nan").split("\n")  # the sign depends on the compiler
    assert len(lines) == len(sources)
    return lines


def installed(version: str) -> str:
    """Return the path of a liblua, or skip the test."""
    if not finding.is_installed(version):
        pytest.skip(f"lupa has no Lua {version}")
    path = finding.find(version).own or ctypes.util.find_library(f"lua{version}")
    if not path:
        pytest.skip(f"NOT TESTED: liblua {version} is not installed")
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_everything_is_as_in_the_machines_lua(version: str) -> None:
    """Results, types, error texts and names of libraries are those of the Lua that Slurm loads on this machine."""
    path = installed(version)
    if not finding.find(version).own:
        pytest.skip(f"NOT TESTED: Slurm's plugins here are linked to Lua {finding.of_slurm()}, so scripts use lupa's")
    sources = snippets(random.Random(12))
    theirs, ours = ask(version, path, sources), ask(version, "-", sources)
    wrong = [row for row in zip(sources, theirs, ours, strict=True) if row[1] != row[2]]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("version", VERSIONS)
def test_results_are_the_same_without_it(version: str) -> None:
    """Where the machine has no liblua, lupa's has what distributions build, apart from the words of errors."""
    sources = snippets(random.Random(12))
    theirs, ours = ask(version, installed(version), sources), ask(version, "lupa", sources)

    def plain(line: str) -> str:
        return re.sub(r"^(error|compile).*", r"\1", line)

    wrong = [row for row in zip(sources, theirs, ours, strict=True) if plain(row[1]) != plain(row[2])]
    assert not wrong, "\n".join(map(str, wrong))
