# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of a set: slurmhooks.toml and every file that it, or a line of plugstack.conf, names."""

import ast
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.cli import configuration
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import durable, home, paths, plugstack, sums, trusted
from slurmhooks.site import sources as site

if TYPE_CHECKING:
    from slurmhooks.config.model import Config

UNFINISHED = "slurmhooks.d/begun"
"""The file that exists from the beginning to the end of a deployment, relative to the home."""
PLUGSTACK = "plugstack.conf"
GROUPS = ".groups"
"""The file of a set in the store that has its :data:`Groups`."""
Groups = dict[str, tuple[str, int]]
"""Of each private file: the group that its archive names, and the id of the group that its copy has for that. The id
does not tell the name: a file without a group has that of SlurmUser."""
LUA_PATH = re.compile(r"package\s*\.\s*c?path\s*=[^\n]*?[\"'](/[^\"'?]*)")


def collect(
    folder: Path, lines: Iterable[str] | None = None, *, reads: bool = True
) -> tuple[dict[str, File], list[str]]:
    """Return the files of a site by their names in the set, and notes.

    Args:
        folder: the folder of slurmhooks.toml, and of plugstack.conf if it names our plugin.
        lines: the lines of plugstack.conf, see :func:`spank_lines`; by default those of the folder.
        reads: the content of the files, which may be large data; otherwise only their names are right.

    Raises:
        Findings: files are missing, or cannot be read.
    """
    path = Path(home.source_in(str(folder)))
    if not path.exists():
        raise Finding(f"{path} does not exist: name the folder that has it")
    try:
        link = path
        path, read = site.located_config(link)
    except ConfigError as error:
        from slurmhooks.cli import whole_site  # which most deployments import in a child only

        raise Findings([*error.findings, *whole_site.more_faults(error)]) from error
    contents = _Contents(path, home.is_deployed(str(path)), reads)
    contents.file(path.name, "the folder", as_name=site.FILE_NAME)  # a link may lead to a file of another name
    for pattern in read.hooks.paths:
        contents.matches(pattern, "[hooks] paths")
    for pattern in read.hooks.data:
        contents.matches(pattern, "[hooks] data")
    for name in maps(read):
        contents.file(name, "[[rule]] map")
    for section in ("job_submit", "scrun", "cli_filter"):
        script = getattr(read, section).lua
        if script is not None:
            contents.file(script, f"[{section}] lua")
    for name in read.hooks.packages:
        contents.folder(name)
    for line in spank_lines(folder) if lines is None else lines:
        contents.line(line)
    if site.located(str(link)) != str(path):  # as Kubernetes replaces a ConfigMap
        raise Finding(f"{link}: was replaced while it was read: try again")
    contents.findings += _named_twice(contents.files, path.parent)
    if contents.findings:
        raise Findings(contents.findings)
    for name in read.hooks.modules:
        top = name.partition(".")[0]
        if not any(Path(path.parent, packages, top).exists() for packages in read.hooks.packages):
            contents.notes.append(f"[hooks] modules: {name} is not in the set: each machine must have it installed")
    if not home.is_deployed(str(path)):
        contents.notes += _outside(path.parent, contents.files)
    return contents.files, contents.notes


def exposed(folder: Path, files: Iterable[str]) -> list[str]:
    """Return a note about the first file of a site that another user than root could have written, if there is one."""
    trusted.guard()
    for name in sorted(files):
        absolute = name.startswith(f"{home.OUTSIDE}/")
        try:
            trusted.check(name.removeprefix(home.OUTSIDE) if absolute else str(folder.resolve() / name))
        except LoadError as error:
            return [f"{error.findings[0]}; whoever can write there decides what you deploy"]
    return []


def _named_twice(files: Iterable[str], base: Path) -> list[str]:
    """Return a finding for each hook file that a set would have twice, under its relative and its absolute name.

    Processes would load both, so that handlers would run twice, or would not share their globals.
    """
    names = {os.path.realpath(base / name): name for name in files if not name.startswith(f"{home.OUTSIDE}/")}
    twice = [name.removeprefix(home.OUTSIDE) for name in files if name.startswith(f"{home.OUTSIDE}/")]
    return [
        f"{name}: is named absolute and relative, as {known}, so it would be loaded twice: name it relative everywhere,"
        f" in {site.FILE_NAME} and in {PLUGSTACK}"
        for name in twice
        if name.endswith((".py", ".lua")) and (known := names.get(os.path.realpath(name))) is not None
    ]


def maps(read: "Config") -> list[str]:
    """Return the map files that rules name, each once; see slurmhooks.rules.maps."""
    return list(dict.fromkeys(name for table in read.rule if isinstance(name := table.get("map"), str)))


def spank_lines(folder: Path) -> list[str]:
    """Return the lines of plugstack.conf for our plugin: what they name, without the arguments for handlers.

    Args:
        folder: the folder of slurm.conf, which may name another plugstack.conf, or the folder of plugstack.conf.
    """
    return [line_of(line.partition("#")[0].split()[2:]) for line in configuration.spank_lines(folder)]


def line_of(words: list[str]) -> str:
    """Return what a line of plugstack.conf names, as a line."""
    config, pattern, _ = plugstack.split(words)
    return " ".join(filter(None, (f"config={config}" if config is not None else None, pattern)))


def folders(folder: Path) -> Iterable[Path]:
    """Yield the folders in which the patterns of a set look for hook files; an archive has none that are empty.

    Args:
        folder: of the files of the set. If its configuration is invalid, nothing is yielded, as it is refused later.
    """
    try:
        patterns = list(site.located_config(folder / site.FILE_NAME)[1].hooks.paths)
    except ConfigError:
        return
    for line in known_lines(folder) or ():
        config, pattern, _ = plugstack.split(line.split())
        if pattern is not None:
            patterns.append(pattern.removeprefix(f"{site.FORMER}/"))
        if config is not None and config != site.FILE_NAME:
            name = name_of(config)
            with suppress(ConfigError):
                inner = site.located_config(folder / name)[1].hooks.paths
                patterns += [os.path.join(os.path.dirname(name), each) for each in inner]
    for pattern in filter(paths.has_magic, patterns):
        place = os.path.normpath(paths.fixed_folder(pattern))
        if place.startswith("/"):
            yield folder / home.OUTSIDE / place.lstrip("/")
        elif not place.startswith(".."):
            yield folder / place


def known_lines(folder: Path) -> list[str] | None:
    """Return the lines of plugstack.conf that a set was made for; None if it was made for any."""
    try:
        return (folder / PLUGSTACK).read_text(errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return None


def other_lines(place: Path, sysconfdir: Path) -> list[str]:
    """Return a finding if the lines of plugstack.conf name something else than those that a set was made for."""
    known = known_lines(place)
    lines = spank_lines(sysconfdir)
    if known is None or sorted(known) == sorted(lines):
        return []
    have, need = (
        "; ".join(" ".join(("spank_python.so", each)).strip() for each in each_of) or "none"
        for each_of in (lines, known)
    )
    return [f"plugstack.conf has the lines of spank_python.so: {have}; the set was made for: {need}"]


def mistaken_lines(place: Path, sysconfdir: Path) -> list[str]:
    """Return findings about the lines of plugstack.conf as they are now, for a set that has been deployed."""
    findings = []
    for args in configuration.plugstack_arguments(sysconfdir):
        config, pattern, _ = plugstack.split(args)
        findings += plugstack.unknown(args)
        if site.lacks(config, pattern, str(place.resolve())):
            findings.append(site.lacking(args))
    return [*findings, *other_lines(place, sysconfdir)]


def name_of(name: str) -> str:
    """Return the name that a file has in a set, given by what a configuration or a line of plugstack.conf calls it."""
    plain = os.path.normpath(name).replace("//", "/")
    return f"{home.OUTSIDE}{plain}" if plain.startswith("/") else plain


def of_folder(folder: Path, *, damaged: bool = False) -> dict[str, File]:
    """Return the files of the set in a folder; ``damaged``: without unreadable ones, so that a set can replace it.

    Raises:
        OSError: a file cannot be read.
    """
    made, groups = {}, _read_groups(folder)
    for path in (Path(place, name) for place, files in sums.walk(str(folder)) for name in files):
        try:
            name, file = str(path.relative_to(folder)), File.read(path)
        except OSError:
            if damaged:
                continue
            raise
        group, gid = groups.get(name, ("", -1))
        made[name] = replace(file, group=group) if file.is_private and path.stat().st_gid == gid else file
    return made


def write_groups(folder: Path, groups: Groups) -> None:
    """Write the groups of the private files of a set, if there are any."""
    if groups:
        durable.write(folder / GROUPS, json.dumps(groups).encode(), 0o444)


def _read_groups(folder: Path) -> Groups:
    """Return the groups of the private files of a set; none if they are not known, which changes its id."""
    try:
        return {name: (group, gid) for name, (group, gid) in json.loads((folder / GROUPS).read_bytes()).items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}


def changes(before: dict[str, File], after: dict[str, File]) -> list[str]:
    """Return a line for each file that differs between two sets."""
    lines = [f"{name}: removed" for name in before if name not in after]
    lines += [f"{name}: added" for name in after if name not in before]
    lines += [f"{name}: changed" for name in after if name in before and before[name] != after[name]]
    return sorted(lines)


class _Contents:
    """The files and the findings so far; files of a store are those that were deployed, whose modes are their own."""

    def __init__(self, path: Path, in_store: bool, reads: bool) -> None:
        self.path = path
        self.base = path.parent
        self.files: dict[str, File] = {}
        self.findings: list[str] = []
        self.notes: list[str] = []
        self._in_store = in_store
        self._reads = reads

    def file(self, name: str, key: str, *, as_name: str | None = None) -> None:
        """Add a file, given relative to the configuration or by an absolute name, for a key that names it."""
        plain = os.path.normpath(name)
        if plain.startswith(".."):
            self.findings.append(
                f"{key} names {name}: that is outside of the folder of slurmhooks.toml: write an absolute name"
            )
            return
        if as_name is None and any(part.startswith(".") for part in plain.split("/")):
            self.findings.append(f"{key} names {name}: a set has no hidden files; rename it")
            return
        path = self.base / plain
        above = self.base if path.is_relative_to(self.base) else Path("/")
        try:
            if self._reads:
                self.files[as_name or name_of(name)] = File.read(path, None if self._in_store else above)
            else:
                path.stat()  # it may be missing
                self.files[as_name or name_of(name)] = File(b"")
        except OSError as error:
            self.findings.append(f"{path}: {error.strerror}; {key} names it")

    def matches(self, pattern: str, key: str) -> None:
        try:
            names = paths.matches(str(self.base / pattern))
        except LoadError as error:
            # Before the first deployment a line of plugstack.conf already names folders of the coming set.
            if key != PLUGSTACK or not paths.is_absent(str(self.base / paths.fixed_folder(pattern))):
                self.findings += error.findings
                return
            names = []
        if not names:
            # In the words in which the set is loaded, so that `deploy` says it once.
            where = key if key == PLUGSTACK else self.path
            self.notes.append(f"{where}: no file matches {self.base / pattern}")
        for name in names:
            self.file(name if pattern.startswith("/") else os.path.relpath(name, self.base), key)

    def folder(self, name: str) -> None:
        try:
            for place, files in sums.walk(str(self.base / name)):
                for file in files:
                    path = os.path.join(place, file)
                    self.file(path if name.startswith("/") else os.path.relpath(path, self.base), "[hooks] packages")
        except OSError as error:
            self.findings.append(f"{error.filename}: {error.strerror}; [hooks] packages names it")

    def line(self, line: str) -> None:
        """Add a line of plugstack.conf, and the files that it names."""
        named, pattern, _ = plugstack.split(line.split())
        if named not in (None, site.FILE_NAME):
            self.configuration(named)
        if pattern is not None:
            self.matches(pattern.removeprefix(f"{site.FORMER}/"), PLUGSTACK)
        known = self.files.get(PLUGSTACK, File(b"")).content
        self.files[PLUGSTACK] = File(known + f"{line}\n".encode("utf-8", "surrogateescape"))

    def configuration(self, name: str) -> None:
        """Add another configuration, and the hook files that it names relative to itself."""
        self.file(name, f"config= of {PLUGSTACK}")
        path = Path(self.base, name)
        if not path.exists():
            return
        try:
            _, read = site.located_config(path)
        except ConfigError as error:
            self.findings += error.findings
            return
        inner = _Contents(path, self._in_store, self._reads)
        for pattern in (*read.hooks.paths, *read.hooks.data):
            inner.matches(pattern, f"{name}: [hooks]")
        for map_file in maps(read):
            inner.file(map_file, f"{name}: [[rule]] map")
        for folder in read.hooks.packages:
            inner.folder(folder)
        start = name_of(os.path.dirname(name))
        for inside, file in inner.files.items():
            # A file with an absolute name is in one place, whichever configuration names it.
            place = inside if inside.startswith(f"{home.OUTSIDE}/") else os.path.normpath(os.path.join(start, inside))
            self.files[place] = file
        self.findings += inner.findings
        self.notes += inner.notes


def _outside(base: Path, files: Mapping[str, File]) -> list[str]:
    """Return a note for each place in Python files and Lua scripts that names a file that may not be in the set.

    Changes of such a file take effect without a deployment.
    """
    notes = []
    for name, file in sorted(files.items()):
        text = file.content.decode("utf-8", "replace")
        if name.endswith(".py"):
            notes += [f"{base / name}:{line}: {what}" for line, what in _of_python(text, base, files)]
        elif name.endswith(".lua"):
            notes += [
                f"{base / name}: package.path names {found}: what the script requires from there is not part of the set"
                for found in LUA_PATH.findall(text)
            ]
    return notes


def _of_python(text: str, base: Path, files: Mapping[str, File]) -> list[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # refused when the set is loaded
    found: dict[tuple[int, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__file__":
            found[node.lineno, "uses __file__: name in [hooks] data what it reads beside itself"] = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(f"{base}/"):
            inside = node.value.removeprefix(f"{base}/")
            advice = "relative to __file__" if inside in files else "in [hooks] data, and relative to __file__"
            found[node.lineno, f"names {node.value}, which is not part of the set: name it {advice}"] = None
    return sorted(found)
