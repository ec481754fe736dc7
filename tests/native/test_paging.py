# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables that are read page by page while records come and go (native/slurmctld/pages.c)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.turns import moved
from tests.native.building import ROOT

pytestmark = pytest.mark.slow

NATIVE, FAKEHOST = ROOT / "native", ROOT / "tests" / "fakehost"
PARTS = ("pages", "selection", "groups", "cursors")
SOURCES = [NATIVE / "slurmctld" / f"{part}.c" for part in PARTS]
SOURCES += [NATIVE / "wire" / "pack.c", NATIVE / "wire" / "apply.c"]
SOURCES += [FAKEHOST / name for name in ("paging.c", "memory.c", "output.c")]
FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fsanitize=address,undefined")


@pytest.fixture(scope="module", params=["", "-DPAGE_TIME=0"], ids=["", "late"])
def paging(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The program that reads simulated jobs, see its source; once so that each page is late from the beginning."""
    folder = tmp_path_factory.mktemp("late" if request.param else "paging")
    program = folder / "paging"
    write = [sys.executable, str(NATIVE / "generate" / "protocol.py"), str(folder / "protocol.h")]
    subprocess.run(write, check=True)
    command = [
        "cc",
        *FLAGS,
        *filter(None, [request.param]),
        *(f"-I{each}" for each in (NATIVE, FAKEHOST, folder)),
        *map(str, SOURCES),
    ]
    subprocess.run([*command, "-o", str(program), "-pthread"], check=True)
    return program


CASES = [(3000, 40), *moved((0, 0), (1, 1), (3000, 0), (20_000, 150))]


@pytest.mark.parametrize("how", ["walk", "iterate", "forget"])
@pytest.mark.parametrize(("count", "changes"), CASES)
def test_no_job_is_left_out(paging: Path, count: int, changes: int, how: str) -> None:
    """Each job that exists all the time is read, also if others come and go between two pages.

    It is read once, if none goes; with an iterator, also if others go.
    """
    # A page that is late from the beginning has 16 jobs.
    changes = min(changes, 4) if paging.parent.name.startswith("late") else changes
    for seed in range(3 if how == "iterate" else 1):
        command = [str(paging), str(count), str(changes), str(seed), how]
        environment = {"ASAN_OPTIONS": "detect_leaks=0"}  # the simulated jobs live as long as the program
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=120)
        result = json.loads(done.stdout)
        assert result["lost"] == 0, (command, result)
        assert how != "forget" or count < 3000 or result["repeated"]
        repeats = how == "forget" or (changes and how == "walk")
        assert repeats or result["repeated"] == 0, (command, result)


@pytest.mark.parametrize("how", ["count", "recount", "steady", "total"])
@pytest.mark.parametrize("count", [99, *moved(0, 1, 3000, 20_000)])
def test_each_job_is_counted_once(paging: Path, count: int, how: str) -> None:
    """Jobs are counted by kind, over several pages, also if the place of the last page was forgotten.

    There is one page if slurmctld holds its locks during the whole call, whatever the number of jobs.
    """
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    command = [str(paging), str(count), "0", "1", how]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=120)
    result = json.loads(done.stdout)
    if how == "total":
        assert (result["sum"], result["pages"]) == ((count + 4) // 7, 1)
    else:
        assert (result["wrong"], result["sum"]) == (0, count)
        assert result["pages"] == 1 or how != "steady"
