# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the hook manifest, which slurmhooks.site.manifest describes and reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from stat import S_IROTH
from zlib import crc32

from slurmhooks.handlers import loader
from slurmhooks.hooks.points import COMMANDS, CONTEXTS, HEALTH, MOST_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmhooks.handlers.loader import Source
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.hooks.option import Option

FORMAT = 4
MOST_TEXTS = 8 << 20
"""Bytes of the contents of hook files at most; native/manifest reads no manifest of more than twice as many."""
MOST_ARGUMENTS = MOST_WORDS - 1
"""Maximum number of arguments of a line of plugstack.conf."""


@dataclass
class ManifestLine:
    """A line of plugstack.conf, after loading.

    ``rest`` are the arguments that handlers see, ``lua`` are the words of the Lua library for its scripts, ``log``
    level and limit, if the line reads a configuration, as words.
    """

    args: Sequence[str]
    sources: Sequence[Source]
    rest: Sequence[str]
    registry: Registry
    lua: Sequence[str] = ()
    log: Sequence[str] = ()


@dataclass
class Point:
    """What one of slurmhooks.site.manifest.POINTS needs from the configuration.

    ``log`` are level and limit, ``lua`` the Lua library for its scripts, both as words. ``script`` is, for scrun, the
    path of the site's own scrun.lua. The handlers are not known if ``registry`` is None.
    """

    name: str
    sources: Sequence[Source]
    log: Sequence[str]
    script: str | None = None
    registry: Registry | None = None
    lua: Sequence[str] = ()
    records: Sequence[Sequence[str]] = ()


def render(lines: Iterable[ManifestLine], slurm_version: int, sources: str, points: Iterable[Point] = ()) -> bytes:
    """Return a manifest.

    ``slurm_version`` is SLURM_VERSION_NUMBER of the installed plugin, ``sources`` the hash of the sources that it was
    built from. A plugin point that is not in ``points`` reads the configuration itself.
    """
    rows = []
    texts = _Texts()
    for line in lines:
        rows.append(_row("line", *line.args))
        rows += _sources(line.sources, line.registry, "spank", texts)
        rows += [_row("lua", *line.lua)] if line.lua else []
        rows += [_row("log", *line.log)] if line.log else []
        rows += _calls(line.registry, "spank")
        rows += [_option(option) for option in line.registry.options]
    for point in points:
        rows += [point.name, *_sources(point.sources, point.registry, point.name, texts), _row("log", *point.log)]
        rows += [_row("script", point.script)] if point.script is not None else []
        rows += [_row("lua", *point.lua)] if point.lua else []
        rows += [_row(*words) for words in point.records]
        # scrun's stub calls Python for each function.
        rows += _calls(point.registry, point.name) if point.registry is not None and point.name != "scrun" else []
    return sealed(header(slurm_version, sources), "\n".join([*rows, "end", ""]).encode() + texts.joined)


def header(slurm_version: int, sources: str) -> str:
    """Return the first record of a manifest, without the checksum; arguments as for :func:`render`."""
    return f"slurmhooks-manifest {FORMAT} {slurm_version:#x} {sources} "


def sealed(start: str, rest: bytes) -> bytes:
    """Return a manifest with the checksum of all that follows its first record."""
    return f"{start}0x{crc32(rest):08X}\n".encode() + rest


class _Texts:
    """The contents of files that follow the records, each once."""

    def __init__(self) -> None:
        self.joined = b""
        self._places: dict[str, tuple[str, ...]] = {}

    def place(self, path: str) -> tuple[str, ...]:
        """Return place and size of the content of a file, as words; nothing if it must not be among them.

        All users read the manifest, but not each file.
        """
        if path not in self._places:
            content = loader.read(path) if Path(path).stat().st_mode & S_IROTH else b"\0"
            fits = b"\0" not in content and len(self.joined) + len(content) <= MOST_TEXTS
            self._places[path] = (str(len(self.joined)), str(len(content))) if fits else ()
            self.joined += content if self._places[path] else b""
        return self._places[path]


def _sources(sources: Iterable[Source], registry: Registry | None, point: str, texts: _Texts) -> list[str]:
    """Return records of what a launch loads: not what has nothing for the plugin point."""
    needed = [
        source
        for source in sources
        if source.packages is not None or source.scripted or registry is None or registry.is_needed(source.name, point)
    ]
    if all(source.packages is not None for source in needed):
        return []
    # Health checks are not for users, whose launches would read them.
    return [_source(source, None if point == "node" else texts) for source in needed]


def _source(source: Source, texts: _Texts | None) -> str:
    if source.packages is not None:
        return _row("packages", source.packages)
    if source.path is None:
        return _row("module", source.module or "")
    return _row("source", source.path, *(texts.place(source.path) if texts is not None and not source.scripted else ()))


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
