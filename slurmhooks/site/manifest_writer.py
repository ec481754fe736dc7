# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the hook manifest, which slurmhooks.site.manifest describes and reads, and compares it with the files."""

from __future__ import annotations

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from slurmhooks.hooks.points import COMMANDS, CONTEXTS, HEALTH, MOST_WORDS
from slurmhooks.site.manifest import decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmhooks.handlers.loader import Source
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.hooks.option import Option

FORMAT = 2
MOST_ARGUMENTS = MOST_WORDS - 1
"""Maximum number of arguments of a line of plugstack.conf."""


class Line:
    """A line of plugstack.conf, after loading.

    Attributes:
        args: its arguments.
        sources: its sources.
        rest: the arguments that handlers see.
        registry: its handlers and options.
        lua: the words of the Lua library for its scripts; empty if it has no scripts.
        log: level and limit from the configuration, as words; empty if the line does not read a configuration.
    """

    __slots__ = ("args", "log", "lua", "registry", "rest", "sources")

    def __init__(
        self,
        args: Sequence[str],
        sources: Sequence[Source],
        rest: Sequence[str],
        registry: Registry,
        lua: Sequence[str] = (),
        log: Sequence[str] = (),
    ) -> None:
        """Store the arguments; see the class."""
        self.args = tuple(args)
        self.sources = list(sources)
        self.rest = list(rest)
        self.registry = registry
        self.lua = tuple(lua)
        self.log = tuple(log)


class Point:
    """What one of slurmhooks.site.manifest.POINTS needs from the configuration.

    Attributes:
        name: of the point.
        sources: the hook files and modules.
        log: level and limit, as words.
        script: for scrun, the path of the site's own scrun.lua, or None.
        registry: the handlers; None for scrun, whose stub calls Python for each function.
        lua: the Lua library for its scripts, as words; empty if it has none.
        records: further records, as words.
    """

    __slots__ = ("log", "lua", "name", "records", "registry", "script", "sources")

    def __init__(
        self,
        name: str,
        sources: Sequence[Source],
        log: Sequence[str],
        script: str | None = None,
        registry: Registry | None = None,
        lua: Sequence[str] = (),
        records: Sequence[Sequence[str]] = (),
    ) -> None:
        """Store the arguments; see the class."""
        self.name = name
        self.records = list(records)
        self.sources = list(sources)
        self.log = tuple(log)
        self.script = script
        self.registry = registry
        self.lua = tuple(lua)


def render(
    lines: Iterable[Line],
    watched: Iterable[str],
    slurm_version: int,
    patterns: Iterable[str] = (),
    points: Iterable[Point] = (),
) -> str:
    """Return the text of a manifest.

    Args:
        lines: all lines of plugstack.conf that name the plugin.
        watched: the files and folders whose change makes the manifest invalid.
        slurm_version: SLURM_VERSION_NUMBER of the installed plugin.
        patterns: absolute names and globs of hook files; the manifest is invalid once they match other files.
        points: the plugin points with records; any other plugin point reads the configuration itself.
    """
    rows = [f"slurmhooks-manifest {FORMAT} {slurm_version:#x}", "# made by 'slurmhooks compile'; safe to delete"]
    rows += list(dict.fromkeys([*map(_watch, sorted(set(watched))), *map(_pattern, sorted(set(patterns)))]))
    for line in lines:
        rows.append(_row("line", *line.args))
        rows += _sources(line.sources)
        rows += [_row("lua", *line.lua)] if line.lua else []
        rows += [_row("log", *line.log)] if line.log else []
        rows += _calls(line.registry, "spank")
        rows += [_option(option) for option in line.registry.options]
    for point in points:
        rows += [point.name, *_sources(point.sources), _row("log", *point.log)]
        rows += [_row("script", point.script)] if point.script is not None else []
        rows += [_row("lua", *point.lua)] if point.lua else []
        rows += [_row(*words) for words in point.records]
        rows += _calls(point.registry, point.name) if point.registry is not None else []
    return "\n".join([*rows, "end", ""])


def _sources(sources: Iterable[Source]) -> list[str]:
    return [_source(source) for source in sources]


def _source(source: Source) -> str:
    if source.packages is not None:
        return _row("packages", source.packages)
    return _row("source", source.path) if source.path else _row("module", source.module or "")


def _calls(registry: Registry, point: str) -> list[str]:
    return [_row("call", name, str(contexts)) for name, contexts in calls(registry, point).items()]


def calls(registry: Registry, point: str = "spank") -> dict[str, int]:
    """Return the functions of a plugin point that have handlers, each with their contexts as bits."""
    contexts: dict[str, int] = {}
    for handler in registry.all_handlers():
        if handler.spec.point == point:
            name = handler.spec.short_name
            contexts[name] = contexts.get(name, 0) | _bits(handler.contexts)
    return contexts


def without_times(text: str) -> str:
    """Return a manifest without sizes and times of folders. If only these differ, launches list the folders again."""
    rows = (row.split(" ") for row in text.split("\n"))
    return "\n".join(" ".join([*row[:2], *row[4:]] if row[0] == "glob" else row) for row in rows)


def outdated(path: str) -> str | None:
    """Return why processes do not use a manifest, by the rules of native/manifest; None if nothing has changed since.

    Args:
        path: of the manifest.
    """
    try:
        text = trusted.read(path).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return "there is none"
    except (LoadError, OSError) as error:
        return f"it cannot be read: {error}"
    try:
        for row in text.split("\n"):
            if row.startswith(("file ", "absent ", "glob ")) and not _holds(row):
                return f"{decoded(row.split(' ')[5 if row.startswith('glob ') else -1])} has changed since"
    except (ValueError, IndexError, LoadError):
        return "it is damaged, or a folder cannot be listed"
    return None


def _holds(row: str) -> bool:
    """Tell whether a record about a file or a glob is true now."""
    from slurmhooks.files.paths import identity, matches

    kind, *words = map(decoded, row.split(" "))
    if kind != "glob":
        return _watch(words[-1]) == row
    folder, start, end = words[4:]
    state = identity(folder)
    if state is None or str(state[1]) != words[0]:
        return False
    return [*map(str, state[1:4])] == words[:3] or len(matches(f"{folder}/{start}*{end}")) == int(words[3])


def write(text: str, path: str) -> None:
    """Replace a manifest atomically; several processes may do so at the same time.

    Raises:
        OSError: it cannot be written; the old one stays.
    """
    from slurmhooks.files import durable

    durable.write(path, text.encode("utf-8", "surrogateescape"), 0o644)


def _watch(path: str) -> str:
    from slurmhooks.files.paths import identity

    state = identity(path)
    return _row("absent", path) if state is None else _row("file", *map(str, state[1:4]), path)


def _pattern(pattern: str) -> str:
    """Return the record by which C notices that a pattern matches other files. The files have records of their own.

    A folder changes for many reasons, such as byte code or the temporary files of editors. If its time has changed, C
    counts the names that match. If symbolic links are among them, the number is not enough, and the folder is watched.
    """
    from slurmhooks.files.paths import has_magic, identity, matches, plain_glob

    if not has_magic(pattern):
        # Watch the name, not what it resolves to: it may be a link, whose target can change.
        return _watch(pattern)
    import os

    plain = plain_glob(pattern)
    folder = os.path.dirname(pattern)
    state = identity(folder)
    if plain is None or state is None:
        return _watch(folder)
    names = matches(pattern)
    if any(map(os.path.islink, names)):
        return _watch(folder)
    return _row("glob", *map(str, state[1:4]), str(len(names)), *plain)


def _option(option: Option) -> str:
    return _row(
        "option",
        str(option.has_arg),
        str(_bits(option.contexts)),
        str(int(option.checked)),
        option.name,
        option.arginfo or "",
        option.usage,
    )


def _bits(contexts: Iterable[str]) -> int:
    """Return contexts as bits. Slurm numbers those of SPANK from 1."""
    orders = (COMMANDS, HEALTH, ("", *CONTEXTS))
    return sum(1 << next(order.index(name) for order in orders if name in order) for name in contexts)


def _row(*words: str) -> str:
    return " ".join(map(_encode, words))


def _encode(word: str) -> str:
    return "".join(
        chr(byte) if 0x21 <= byte <= 0x7E and byte not in b"%#" else f"%{byte:02X}"
        for byte in word.encode("utf-8", "surrogateescape")
    )
