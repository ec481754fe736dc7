# SPDX-License-Identifier: GPL-2.0-or-later
"""The package on a machine that lacks the workshop; tests/cluster/test_without_workshop.py runs Slurm on one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import slurmhooks
from slurmhooks import identity
from slurmhooks.cli import HEADINGS, WORKSHOP, modules

pytestmark = pytest.mark.slow

PACKAGE = Path(slurmhooks.__file__).parent
EACH = """
import importlib, pkgutil, sys
import slurmhooks

for module in pkgutil.walk_packages(slurmhooks.__path__, "slurmhooks."):
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, error)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a copy of the package that lacks the workshop."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, folder / "slurmhooks", ignore=shutil.ignore_patterns("workshop", "__pycache__", "*.pyc"))
    (folder / "native").symlink_to(PACKAGE.parent / "native")
    return folder


def python(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the copy."""
    env = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=site, env=env, capture_output=True, text=True, check=False)


def test_everything_else_can_be_imported(site: Path) -> None:
    """No other module needs the workshop, except its published name; entry modules need a compiled one."""
    done = python(site, "-c", EACH)
    assert [line for line in done.stdout.splitlines() if "_slurmhooks_" not in line] == [
        f"slurmhooks.testing slurmhooks.testing is part of the package {WORKSHOP}: install it"
    ], done.stderr


@pytest.mark.moved
def test_commands_say_what_to_install(site: Path) -> None:
    """Help names the commands that are not there, and each of these says which package has it."""
    lost = {name for name, module in modules().items() if module.startswith("slurmhooks.workshop.")}
    assert {"adopt", "replay", "try"} <= lost
    shown = python(site, "-m", "slurmhooks.cli", "--help").stdout
    _, _, names = shown.partition(f"In the package {WORKSHOP}, which is not installed:")
    assert set(names.replace(",", " ").split()) == lost
    for name in lost:
        done = python(site, "-m", "slurmhooks.cli", name, "--help")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"error: slurmhooks {name} is not installed: it is in the package {WORKSHOP}\n"
    for name in {name for names in HEADINGS.values() for name in names} - lost:
        assert python(site, "-m", "slurmhooks.cli", name, "--help").returncode == 0


def test_completion_is_silent(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that completes words after a command that is not installed writes no traceback on the terminal."""
    for name, value in (
        ("_SLURMHOOKS_COMPLETE", "bash_complete"),
        ("COMP_WORDS", "slurmhooks try "),
        ("COMP_CWORD", "2"),
    ):
        monkeypatch.setenv(name, value)
    done = python(site, "-c", "from slurmhooks.cli import main; main(prog_name='slurmhooks')")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("caches", [False, True], ids=["never installed", "caches are left"])
def test_pytest_runs_on(site: Path, tmp_path: Path, caches: bool) -> None:
    """pytest, which loads the plugin wherever slurmhooks is installed, runs the tests of others.

    So it does where the workshop was removed and folders with caches are left, which Python takes for packages.
    """
    copy = Path(shutil.copytree(site, tmp_path / "site", symlinks=True))
    if caches:
        (copy / "slurmhooks" / "workshop" / "testing" / "__pycache__").mkdir(parents=True)
    (copy / "test_of_others.py").write_text("def test_of_others(): pass\n")
    assert "1 passed" in python(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(copy)).stdout
    assert f"package {WORKSHOP}: install it" in python(copy, "-c", "import slurmhooks.testing").stderr


def test_it_is_the_same_build(site: Path) -> None:
    """A plugin that was built on a machine with the workshop is served on one without it, and the other way round."""
    assert identity.of(str(site / "slurmhooks")) == identity.here()
