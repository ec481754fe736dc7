# SPDX-License-Identifier: GPL-2.0-or-later
"""What there is to know about a Python before Slurm's processes can hold it."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from pydantic import BaseModel

FACTS = Path(__file__).with_name("python_facts.py")


class Python(BaseModel):
    """The Python that the plugins are to embed."""

    executable: str
    version: str
    libpython: str | None
    include: str
    has_headers: bool
    paths: list[str]
    cffi: str | None
    cffi_backend: str | None
    slurmhooks: str | None
    free_threaded: bool

    @property
    def short_version(self) -> str:
        """Return the version without its third part, as in names of packages."""
        return ".".join(self.version.split(".")[:2])


def inspect(executable: str) -> Python | str:
    """Ask a Python about itself; return why not if it does not answer."""
    try:
        done = subprocess.run([executable, "-I", FACTS], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{executable} does not run: {error.strerror}"
    if done.returncode:
        return f"{executable} does not answer: {(done.stderr.strip() or 'no output').splitlines()[-1]}"
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        return f"{executable} does not answer: not a Python"
    return Python(executable=executable, **answer)


def shortcomings(python: Python, own_version: str) -> list[str]:
    """Return what keeps a Python from being embedded, one line each with the remedy."""
    name, short = python.executable, python.short_version
    found = []
    if tuple(map(int, short.split("."))) < (3, 11):
        found.append(f"{name} is {python.version}: slurmhooks needs 3.11 or later, name one with --python")
        return found
    if python.free_threaded:
        found.append(f"{name} is a free-threaded build, which is not supported: name another with --python")
    if python.libpython is None:
        found.append(
            f"{name} has no shared libpython: install libpython{short} (Debian), python3-libs (Fedora), "
            "or a Python configured with --enable-shared"
        )
    if not python.has_headers:
        found.append(
            f"{python.include}/Python.h is missing: install python{short}-dev (Debian), python3-devel (Fedora), "
            "Python's C headers"
        )
    if python.slurmhooks is None:
        found.append(f"{name} cannot import slurmhooks: {name} -m pip install slurmhooks=={own_version}")
    elif python.slurmhooks != own_version:
        found.append(
            f"{name} has slurmhooks {python.slurmhooks}, this command is {own_version}: "
            f"{name} -m pip install slurmhooks=={own_version}"
        )
    if python.cffi is None or python.cffi_backend is None:
        found.append(f"{name} cannot import cffi: install python3-cffi (Debian), or {name} -m pip install cffi")
    elif python.cffi != python.cffi_backend:
        found.append(
            f"{name} has cffi {python.cffi} but _cffi_backend {python.cffi_backend}: "
            f"{name} -m pip install --force-reinstall cffi"
        )
    return found


def resolve(executable: str) -> str:
    """Return the absolute path of a Python, without following links: a virtual environment's is one."""
    found = shutil.which(executable)
    return str(Path(found).absolute()) if found else executable
