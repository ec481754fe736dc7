# SPDX-License-Identifier: GPL-2.0-or-later
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import identity
from slurmhooks._version import __version__
from slurmhooks.cli import embedded_python

from .conftest import Machine


def python(**changes: Any) -> embedded_python.Python:
    """Give the facts of a complete Python, with some changes."""
    facts: dict[str, Any] = {
        "executable": "/py",
        "version": "3.13.5",
        "libpython": "/lib/libpython3.13.so.1.0",
        "include": "/include",
        "has_headers": True,
        "paths": ["/lib/python3.13"],
        "cffi": "2.0.0",
        "cffi_backend": "2.0.0",
        "slurmhooks": __version__,
        "sources": identity.here(),
        "free_threaded": False,
    }
    return embedded_python.Python(**facts | changes)


def test_a_python_answers_as_it_will_be_embedded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The facts are those of an isolated Python: no PYTHONPATH, no folder of the script, only existing paths."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    answer = embedded_python.inspect(sys.executable)
    assert isinstance(answer, embedded_python.Python)
    assert answer.version == ".".join(map(str, sys.version_info[:3]))
    assert str(tmp_path) not in answer.paths
    assert str(embedded_python.FACTS.parent) not in answer.paths
    assert all(os.path.exists(path) for path in answer.paths)
    assert (answer.slurmhooks, answer.sources) == (__version__, identity.here())


def test_what_is_no_python_is_told(machine: Machine) -> None:
    """A program that is missing or fails results in a reason, not in an exception."""
    assert embedded_python.inspect("/no/python") == "/no/python does not run: No such file or directory"
    broken = machine.program("python", "echo trouble >&2; exit 1")
    assert embedded_python.inspect(str(broken)) == f"{broken} does not answer: trouble"
    silent = machine.program("python", "echo hello")
    assert embedded_python.inspect(str(silent)) == f"{silent} does not answer: not a Python"


def test_a_complete_python_has_no_shortcomings() -> None:
    """A complete Python has no findings."""
    assert embedded_python.shortcomings(python(), __version__, identity.here()) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "3.9.18"}, ["3.9.18", "3.11", "--python"]),
        ({"libpython": None}, ["libpython3.13", "--enable-shared"]),
        ({"has_headers": False}, ["/include/Python.h", "python3.13-dev", "python3-devel"]),
        ({"slurmhooks": None}, ["/py -m pip install slurmhooks"]),
        ({"slurmhooks": "9.9.9"}, ["9.9.9", __version__, "pip install"]),
        ({"cffi": None}, ["python3-cffi", "pip install cffi"]),
        ({"cffi_backend": None}, ["python3-cffi"]),
        ({"cffi_backend": "1.0"}, ["2.0.0", "1.0", "--force-reinstall"]),
        ({"free_threaded": True}, ["free-threaded", "--python"]),
    ],
)
def test_each_shortcoming_is_one_line_with_its_remedy(changes: dict[str, Any], words: list[str]) -> None:
    """Each missing part is one line that names it and says what to do."""
    [line] = embedded_python.shortcomings(python(**changes), __version__, identity.here())
    assert "\n" not in line
    assert all(word in line for word in words)


def test_a_virtual_environment_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual environment's link to Python is not followed; a name is looked up; an unknown name is kept."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert embedded_python.resolve("./python") == str(link)
    assert embedded_python.resolve("python") == str(link)
    assert embedded_python.resolve("/no/python") == "/no/python"


def test_a_newer_python_in_place(tmp_path: Path) -> None:
    """A path in a virtual environment stays good if one of a newer Python takes its place; another file counts."""
    (tmp_path / "bin").mkdir()
    named, plain = tmp_path / "bin" / "python3.13", tmp_path / "bin" / "python3"
    named.symlink_to(sys.executable)
    plain.symlink_to(named)
    assert embedded_python.resolve(str(named)) == str(named), "no virtual environment"
    (tmp_path / "pyvenv.cfg").touch()
    assert embedded_python.resolve(str(named)) == str(plain)
    plain.unlink()
    plain.symlink_to("/bin/sh")
    assert embedded_python.resolve(str(named)) == str(named)
