# SPDX-License-Identifier: GPL-2.0-or-later
"""The C code with the headers of each release of Slurm, under sanitizers and valgrind.

All other tests of this folder use the headers of this machine. The root file systems of tests/cluster have the others.
"""

import shutil
from pathlib import Path

import pytest

from tests.cluster.conftest import RELEASES
from tests.native import test_opening, test_wire, under_valgrind
from tests.native.building import PLAIN, SANITIZED
from tests.native.conftest import built
from tests.native.hosting import Host

pytestmark = [pytest.mark.soak, pytest.mark.parametrize("release", RELEASES)]


def test_sanitized(release: str, tmp_path: Path) -> None:
    """AddressSanitizer and UBSan report nothing in calls of all plugin points, nor for damaged answers."""
    build = built(SANITIZED.of(release))
    under_valgrind.run(build, fresh(tmp_path / "all"))
    test_wire.test_c_packs_what_python_reads(Host(build, fresh(tmp_path / "pack")), tmp_path / "pack")
    test_wire.test_python_writes_what_c_applies(Host(build, fresh(tmp_path / "apply")), tmp_path / "apply")
    test_wire.test_damaged_answers_change_nothing(Host(build, fresh(tmp_path / "damage")), tmp_path / "damage")
    test_opening.test_open_close_open_again(Host(build, fresh(tmp_path / "open")))


def test_valgrind(release: str, tmp_path: Path) -> None:
    """Valgrind reports nothing in calls of all plugin points."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed: apt-get install valgrind")
    under_valgrind.run(built(PLAIN.of(release)), tmp_path)


def fresh(folder: Path) -> Path:
    """Make a folder."""
    folder.mkdir()
    return folder
