# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of a bundle: slurmhooks.toml and every file that it, or a line of plugstack.conf, names."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from slurmhooks.cli import configuration
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, misplaced, paths, plugstack, regular
from slurmhooks.site import replaced
from slurmhooks.site import sources as site

UNFINISHED = "slurmhooks.d/unfinished"
"""The file that exists from the beginning to the end of a deployment, relative to the same folder."""
PLUGSTACK = "plugstack.conf"


def collect(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of a site by their names in the bundle, and notes.

    Args:
        folder: the folder of slurmhooks.toml, and of plugstack.conf if it names our plugin.

    Raises:
        Findings: files are missing, or are outside the folder, so that a bundle could not replace them.
    """
    path = Path(home.of(str(folder)), site.FILE_NAME)
    if not path.exists():
        raise Finding(f"{path} does not exist: name the folder that has it")
    try:
        link = path
        path, read = site.located_config(link)
    except ConfigError as error:
        raise Findings(error.findings) from error
    contents = _Contents(path.parent)
    contents.findings += misplaced.findings(str(link), str(path), site.names_of(read))
    contents.file(path.name, "the folder")
    for pattern in read.hooks.paths:
        contents.matches(pattern, "[hooks] paths")
    for section in ("job_submit", "scrun", "cli_filter"):
        script = getattr(read, section).lua
        if script is not None:
            contents.file(script, f"[{section}] lua")
    for name in read.hooks.packages:
        contents.folder(name)
    for line in spank_lines(folder):
        contents.line(line)
    try:
        replaced.refuse_replaced(str(link), str(path))
    except LoadError as error:
        raise Findings(error.findings) from error
    if contents.findings:
        raise Findings(contents.findings)
    for name in read.hooks.modules:
        top = name.partition(".")[0]
        if not any((path.parent / packages / top).exists() for packages in read.hooks.packages):
            contents.notes.append(f"[hooks] modules: {name} is not in the bundle: each machine must have it installed")
    return contents.files, contents.notes


def spank_lines(folder: Path) -> list[str]:
    """Return the lines of plugstack.conf for our plugin, in normalized spelling.

    Args:
        folder: the folder of slurm.conf, which may name another plugstack.conf, or the folder of plugstack.conf.
    """
    lines = (line.partition("#")[0].split() for line in configuration.spank_lines(folder))
    return [" ".join([words[0].lower(), "spank_python.so", *words[2:]]) for words in lines]


def folders(folder: Path) -> Iterable[Path]:
    """Yield the folders in which the patterns of a bundle look for hook files; an archive has none that are empty.

    Args:
        folder: of the files of the bundle. If its configuration is invalid, nothing is yielded, as it is refused later.
    """
    try:
        from slurmhooks.config import model  # imports pydantic

        patterns = list(model.read(folder / site.FILE_NAME).hooks.paths)
    except ConfigError:
        return
    with suppress(LoadError):  # of a line that is refused later
        for line in spank_lines(folder):
            pattern = plugstack.split(line.split()[2:])[1]
            if pattern is not None:
                patterns.append(pattern.removeprefix(f"{site.DEPLOYED}/"))
    for pattern in filter(paths.has_magic, patterns):
        place = os.path.normpath(paths.fixed_folder(pattern))
        if not place.startswith(("/", "..")):
            yield folder / place


def of_folder(folder: Path) -> dict[str, bytes]:
    """Return the files of a bundle that was deployed to a folder.

    Raises:
        OSError: a file cannot be read.
    """
    names = (Path(place, name) for place, _, files in _walk(folder) for name in files)
    return {str(name.relative_to(folder)): regular.read(name) for name in names}


def _walk(folder: Path) -> Iterable[tuple[str, list[str], list[str]]]:
    """Walk a folder, omitting byte code, which depends on the machine, and hidden files."""

    def fail(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        yield place, folders, sorted(name for name in files if not name.endswith(".pyc") and not name.startswith("."))


class _Contents:
    """The files and the findings so far."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.files: dict[str, bytes] = {}
        self.findings: list[str] = []
        self.notes: list[str] = []

    def file(self, name: str, key: str) -> None:
        """Add a file, given relative to the configuration, for a key that names it."""
        plain = os.path.normpath(name)
        if plain.startswith(("/", "..")):
            self.findings.append(
                f"{key} names {name}: a bundle replaces only files below the folder of slurmhooks.toml; write a name"
                " that is relative to it"
            )
            return
        if any(part.startswith(".") for part in plain.split("/")):
            self.findings.append(f"{key} names {name}: a bundle has no hidden files; rename it")
            return
        try:
            self.files[plain] = regular.read(self.base / plain)
        except OSError as error:
            self.findings.append(f"{self.base / plain}: {error.strerror}; {key} names it")

    def matches(self, pattern: str, key: str) -> None:
        """Add the files that a pattern matches."""
        if pattern.startswith("/"):
            self.file(pattern, key)
            return
        try:
            names = paths.matches(str(self.base / pattern))
        except LoadError as error:
            # Before the first deployment a line of plugstack.conf already names folders of the coming bundle.
            if key != PLUGSTACK or not paths.is_absent(str(self.base / paths.fixed_folder(pattern))):
                self.findings += error.findings
                return
            names = []
        if not names:
            self.notes.append(f"{key}: no file matches {pattern}")
        for name in names:
            self.file(os.path.relpath(name, self.base), key)

    def folder(self, name: str) -> None:
        """Add the files of a folder of packages."""
        if os.path.normpath(name).startswith(("/", "..")):
            self.file(name, "[hooks] packages")
            return
        try:
            for place, _, files in _walk(self.base / name):
                for file in files:
                    self.file(os.path.relpath(os.path.join(place, file), self.base), "[hooks] packages")
        except OSError as error:
            self.findings.append(f"{error.filename}: {error.strerror}; [hooks] packages names it")

    def line(self, line: str) -> None:
        """Add a line of plugstack.conf, and the files that it names."""
        try:
            named, pattern, _ = plugstack.split(line.split()[2:])
        except LoadError as error:
            self.findings += error.findings
            return
        if named not in (None, site.FILE_NAME):
            self.findings.append(f"{PLUGSTACK}: {line}: no bundle can replace config={named}: leave config= out")
        if pattern is not None:
            inside = pattern.removeprefix(f"{site.DEPLOYED}/")
            if inside == pattern:
                self.findings.append(
                    f"{PLUGSTACK}: {line}: a bundle replaces only files below {site.DEPLOYED}: write"
                    f" {site.DEPLOYED}/{pattern.lstrip('/')} into the line"
                )
            else:
                self.matches(inside, PLUGSTACK)
        self.files[PLUGSTACK] = self.files.get(PLUGSTACK, b"") + f"{line}\n".encode("utf-8", "surrogateescape")
