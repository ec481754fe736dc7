# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook manifest: what hook files hold, written down for processes that would rather not start Python.

native/manifest reads it too and says what makes it void. One record a line, words apart by blanks, what is
unusual in a word as ``%XX``::

    slurmhooks-manifest 2 0x160508          version of the format, and Slurm's
    file INODE SIZE MTIME_NS PATH           holds only while that file is this one
    absent PATH                             holds only while there is no such file
    glob INODE SIZE MTIME_NS COUNT FOLDER START END    or only while the folder has as many START*END
    line ARG...                             a line of plugstack.conf, by its arguments; what follows is of this line
    source PATH                             a hook file to load
    module NAME                             an installed module to load
    lua VERSION MODULE FILE PATH CPATH      the Lua that its scripts run on, see slurmhooks.lua.library
    log LEVEL LIMIT                         as [log] of the configuration
    call FUNCTION CONTEXTS                  there are handlers; bit n of CONTEXTS: spank_context_t n
    option HAS_ARG CONTEXTS CHECKED NAME ARGINFO USAGE
    scrun                                   what follows is scrun's: source, module and log as above
    script PATH                             the site's own scrun.lua
    cli_filter                              likewise, with lua and call; bit n of CONTEXTS: number n of COMMANDS
    end

No number of a device: overlays, Btrfs and NFS, of which many nodes' root file systems are, get another at each mount.
"""

from __future__ import annotations

from slurmhooks import trusted
from slurmhooks.hook_specs import COMMANDS, CONTEXTS
from slurmhooks.loader import Source
from slurmhooks.log import LEVELS, log
from slurmhooks.paths import has_magic, identity, matches, plain_glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmhooks.option import Option
    from slurmhooks.registry import Registry

FILE_NAME = "slurmhooks.manifest"
FORMAT = 2
MOST_ARGUMENTS = 63
"""Of a line; one less than MOST_WORDS of native/manifest/record.h."""
JOB_CALLBACKS = ("job_prolog", "job_epilog")
"""slurmd starts a process for each of these that a plugin exports, and reads only at its start which it exports."""
TASK_CALLBACKS = ("user_init", "task_post_fork", "task_exit")
"""With contain_spank, slurmstepd clones itself for each of these that a plugin exports."""
VARIANTS: dict[str, tuple[str, ...]] = {
    "minimal": (),
    "job": JOB_CALLBACKS,
    "task": TASK_CALLBACKS,
    "full": JOB_CALLBACKS + TASK_CALLBACKS,
}
"""The libraries spank_python-NAME.so, as native/meson.build links them, each with the costly callbacks it exports."""
COSTLY_CALLBACKS = VARIANTS["full"]


class Line:
    """One line of plugstack.conf, loaded.

    Attributes:
        args: its arguments, as they stand there.
        sources: what it loads.
        rest: the arguments that handlers see.
        registry: what was found.
        lua: the words of the Lua that its scripts run on; empty if it has none.
        log: level and limit of the configuration that it reads, as words; empty if it reads none.
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
        """Keep what was found; see the class."""
        self.args = tuple(args)
        self.sources = list(sources)
        self.rest = list(rest)
        self.registry = registry
        self.lua = tuple(lua)
        self.log = tuple(log)


POINTS = ("scrun", "cli_filter")
"""The plugin points that take their hook files from slurmhooks.toml alone, as the manifest names them."""


class Point:
    """What one of :data:`POINTS` takes from the configuration.

    Attributes:
        name: of the point.
        sources: the hook files and modules.
        log: level and limit of the configuration, as words.
        script: for scrun, the path of the site's own scrun.lua, or None.
        registry: the handlers; for scrun, C does not ask.
        lua: the words of the Lua that its scripts run on; empty if it has none.
    """

    __slots__ = ("log", "lua", "name", "registry", "script", "sources")

    def __init__(
        self,
        name: str,
        sources: Sequence[Source],
        log: Sequence[str],
        script: str | None = None,
        registry: Registry | None = None,
        lua: Sequence[str] = (),
    ) -> None:
        """Keep what was found; see the class."""
        self.name = name
        self.sources = list(sources)
        self.log = tuple(log)
        self.script = script
        self.registry = registry
        self.lua = tuple(lua)


def default_path() -> str:
    """Return where the manifest is: beside slurm.conf."""
    from slurmhooks import slurm_conf

    return f"{slurm_conf.directory()}/{FILE_NAME}"


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
        watched: the files and folders whose change makes it void.
        slurm_version: SLURM_VERSION_NUMBER of the installed plugin.
        patterns: absolute names and globs of hook files; the manifest is invalid once they match other files.
        points: what the points without lines need; one that is not there reads the configuration.
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
        rows += _calls(point.registry, point.name) if point.registry is not None else []
    return "\n".join([*rows, "end", ""])


def _sources(sources: Iterable[Source]) -> list[str]:
    return [_row("source", source.path) if source.path else _row("module", source.module or "") for source in sources]


def _calls(registry: Registry, point: str) -> list[str]:
    return [_row("call", name, str(contexts)) for name, contexts in calls(registry, point).items()]


def calls(registry: Registry, point: str = "spank") -> dict[str, int]:
    """Return the functions of a plugin point that have handlers, each with the contexts as bits."""
    found: dict[str, int] = {}
    for handler in registry.all_handlers():
        of, _, name = handler.spec.name.partition(".")
        if of == point:
            found[name] = found.get(name, 0) | _bits(handler.contexts)
    return found


def variant(registries: Iterable[Registry]) -> str:
    """Return the name of the smallest plugin variant that exports every callback with a handler."""
    wanted = {name for registry in registries for name in calls(registry)} & set(COSTLY_CALLBACKS)
    return next(name for name, exported in VARIANTS.items() if wanted <= set(exported))


def exported(variant: str) -> tuple[str, ...]:
    """Return the costly callbacks that a variant exports; all of them for the plugin as installed ("")."""
    return VARIANTS.get(variant, COSTLY_CALLBACKS)


def never_called(registry: Registry, missing: Iterable[str]) -> list[str]:
    """Return a finding for each handler that Slurm would never call.

    Args:
        registry: the handlers.
        missing: the callbacks that the installed plugin does not export.
    """
    return [
        f"{handler.where}: Slurm would never call handler {handler.label}: the installed spank_python.so leaves"
        f" {handler.spec.function} out, for sites without such handlers; run 'slurmhooks compile'"
        + (", then restart slurmd" if name in JOB_CALLBACKS else "")
        for name in missing
        for handler in registry.handlers(f"spank.{name}")
    ]


def read(args: Sequence[str], path: str | None = None, point: str | None = None) -> list[list[str]] | None:
    """Return the records of a line or of a plugin point, None if they are not there.

    Args:
        args: the arguments on the line of plugstack.conf.
        point: one of :data:`POINTS`, in place of a line.
        path: the manifest; by default the one beside slurm.conf.

    Raises:
        LoadError: somebody else could have written it since C has read it.
    """
    try:
        rows = trusted.read(path or default_path()).decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return None
    found: list[list[str]] | None = None
    inside = False
    for row in rows:
        words = [_decode(word) for word in row.split(" ")]
        if words[0] == "line" or words[0] in POINTS:
            inside = words == ([point] if point is not None else ["line", *args])
            if inside:
                found = found or []
        elif inside and found is not None:
            found.append(words)
    return found


def sources(rows: Sequence[Sequence[str]]) -> list[Source]:
    """Return what to load according to the manifest, and limit the log as it says.

    Args:
        rows: the records of a line or of a plugin point, see :func:`read`.
    """
    for words in rows:
        if words[0] == "log" and len(words) == 3 and words[1] in LEVELS:
            log.limit(words[1], int(words[2]))
    return [
        Source(path=words[1]) if words[0] == "source" else Source(module=words[1])
        for words in rows
        if words[0] in ("source", "module")
    ]


def of_scripts(rows: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[str]]:
    """Return the words of the Lua for the scripts of a line, and the names of its options in the stub's order.

    Args:
        rows: its records, see :func:`read`.
    """
    lua = next((words[1:] for words in rows if words[0] == "lua"), ())
    return lua, [words[4] for words in rows if words[0] == "option"]


def without_times(text: str) -> str:
    """Return a manifest without the sizes and times of folders: another says only that each launch looks into it."""
    rows = (row.split(" ") for row in text.split("\n"))
    return "\n".join(" ".join([*row[:2], *row[4:]] if row[0] == "glob" else row) for row in rows)


def write(text: str, path: str) -> None:
    """Put a manifest in place in one step, whoever else does so at the same time.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    import os

    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        with open(temporary, "x", encoding="utf-8", errors="surrogateescape") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def _watch(path: str) -> str:
    found = identity(path)
    return _row("absent", path) if found is None else _row("file", *map(str, found[1:4]), path)


def _pattern(pattern: str) -> str:
    """Return the record that tells when a pattern comes to other files, as far as those found are watched themselves.

    A folder changes for many reasons: byte code, an editor's temporary file. Its own time is the quick answer, the
    number of names that fit is the second. With symbolic links among them that number says too little.
    """
    if not has_magic(pattern):
        # By this name: it may be a link that is set to another file.
        return _watch(pattern)
    import os

    plain = plain_glob(pattern)
    folder = os.path.dirname(pattern)
    found = identity(folder)
    if plain is None or found is None:
        return _watch(folder)
    names = matches(pattern)
    if any(map(os.path.islink, names)):
        return _watch(folder)
    return _row("glob", *map(str, found[1:4]), str(len(names)), *plain)


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
    """Return contexts as bits; Slurm counts those of SPANK from 1."""
    return sum(1 << (COMMANDS.index(name) if name in COMMANDS else CONTEXTS.index(name) + 1) for name in contexts)


def _row(*words: str) -> str:
    return " ".join(map(_encode, words))


def _encode(word: str) -> str:
    return "".join(
        chr(byte) if 0x21 <= byte <= 0x7E and byte not in b"%#" else f"%{byte:02X}"
        for byte in word.encode("utf-8", "surrogateescape")
    )


def _decode(word: str) -> str:
    if "%" not in word:
        return word
    parts = word.encode("utf-8", "surrogateescape").split(b"%")
    raw = parts[0] + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in parts[1:])
    return raw.decode("utf-8", "surrogateescape")
