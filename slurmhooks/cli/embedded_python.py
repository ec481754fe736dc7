# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out whether a Python can be embedded in Slurm's processes."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FACTS = Path(__file__).with_name("python_facts.py")


@dataclass(kw_only=True)
class Python:
    """A Python that the plugins could embed.

    Attributes:
        executable: path of the program.
        version: such as 3.11.2.
        libpython: path of the shared library; None if there is none.
        include: folder of Python's C headers.
        has_headers: the headers are installed.
        paths: ``sys.path`` of an isolated start.
        cffi: version; None if it cannot be imported.
        cffi_backend: version of its compiled part; None if it cannot be imported.
        slurmhooks: version; None if it cannot be imported.
        sources: the hash of its sources, see slurmhooks.identity; None if it is not known.
        free_threaded: a build without the GIL.
    """

    executable: str
    version: str
    libpython: str | None
    include: str
    has_headers: bool
    paths: list[str]
    cffi: str | None
    cffi_backend: str | None
    slurmhooks: str | None
    sources: str | None
    free_threaded: bool

    @property
    def short_version(self) -> str:
        """Return the version without its third part, as distributions name packages."""
        return ".".join(self.version.split(".")[:2])


def inspect(executable: str) -> Python | str:
    """Return the facts about a Python, or one line that explains why it does not answer."""
    try:
        process = subprocess.run([executable, "-I", FACTS], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{executable} does not run: {error.strerror}"
    if process.returncode:
        return f"{executable} does not answer: {(process.stderr.strip() or 'no output').splitlines()[-1]}"
    try:
        answer: dict[str, Any] = json.loads(process.stdout)
    except json.JSONDecodeError:
        return f"{executable} does not answer: not a Python"
    return Python(executable=executable, **answer)


def shortcomings(python: Python, own_version: str, own_sources: str) -> list[str]:
    """Return why a Python cannot be embedded, one line each with the remedy."""
    name, short = python.executable, python.short_version
    findings = []
    if tuple(map(int, short.split("."))) < (3, 11):
        findings.append(f"{name} is {python.version}: slurmhooks needs 3.11 or later, name one with --python")
        return findings
    if python.free_threaded:
        findings.append(f"{name} is a free-threaded build, which is not supported: name another with --python")
    if python.libpython is None:
        findings.append(
            f"{name} has no shared libpython: install libpython{short} (Debian), python3-libs (Fedora), "
            "or a Python configured with --enable-shared"
        )
    if not python.has_headers:
        findings.append(
            f"{python.include}/Python.h is missing: install python{short}-dev (Debian), python3-devel (Fedora), "
            "Python's C headers"
        )
    if python.slurmhooks is None:
        findings.append(f"{name} cannot import slurmhooks: {name} -m pip install slurmhooks=={own_version}")
    elif python.slurmhooks != own_version:
        findings.append(
            f"{name} has slurmhooks {python.slurmhooks}, this command is {own_version}: "
            f"{name} -m pip install slurmhooks=={own_version}"
        )
    elif python.sources != own_sources:
        findings.append(
            f"{name} has another build of slurmhooks {own_version} ({python.sources or 'an older one'}) than this"
            f" command ({own_sources}): install the same one there"
        )
    if python.cffi is None or python.cffi_backend is None:
        findings.append(f"{name} cannot import cffi: install python3-cffi (Debian), or {name} -m pip install cffi")
    elif python.cffi != python.cffi_backend:
        findings.append(
            f"{name} has cffi {python.cffi} but _cffi_backend {python.cffi_backend}: "
            f"{name} -m pip install --force-reinstall cffi"
        )
    return findings


def resolve(executable: str) -> str:
    """Return the absolute path of a Python, without following links: that of a virtual environment is a link.

    There, it is the one without a minor version, which a virtual environment of a newer Python in its place has, too.
    """
    found = shutil.which(executable)
    if found is None:
        return executable
    path = Path(found).absolute()
    plain = path.with_name("python3")
    is_virtual = (path.parents[1] / "pyvenv.cfg").exists() and plain.exists() and plain.samefile(path)
    return str(plain if is_virtual and path.name.startswith("python3.") else path)
