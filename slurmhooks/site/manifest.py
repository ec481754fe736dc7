# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook manifest: it records what hook files contain, so that most launches need not start Python.

Each set has its own, a hidden file, which is no part of its content. native/manifest reads it, too, and decides whether
it is valid. Each line is a record of words that are separated by blanks; ``%XX`` represents a special character::

    slurmhooks-manifest 4 0x160508 SOURCES SUM
                                            version of the format, Slurm's, the sources of the build, and the CRC-32 of
                                            all that follows
    line ARG...                             a line of plugstack.conf; the next records belong to it
    source PATH [PLACE SIZE]                a hook file to load, and where its content is after the record "end"
    module NAME                             an installed module to load
    packages PATH                           a folder of packages that they may import
    lua VERSION MODULE FILE PATH CPATH      the Lua library for its scripts, see slurmhooks.lua.library
    log LEVEL LIMIT                         as [log] of the configuration
    call FUNCTION CONTEXTS                  has handlers; bit n of CONTEXTS is spank_context_t n
    option HAS_ARG CONTEXTS CHECKED NAME ARGINFO USAGE
    scrun                                   the next records (source, module, packages, log) are for scrun
    script PATH                             the site's own scrun.lua
    cli_filter                              the next records (source, module, packages, log, lua, call) are for
                                            cli_filter; bit n of CONTEXTS is number n of COMMANDS of
                                            slurmhooks/hooks/points.py
    node                                    the next records (source, module, packages, log, call) are for health checks
    health TIMEOUT AT_MOST METRICS          as [node] and [metrics] textfiles of the configuration
    check KEY VALUE...                      a ready-made check, see slurmhooks.node.ready
    end

The contents of hook files follow, so that a launch opens none of them. A source without anything for a line or plugin
point is not among its records.
"""

from __future__ import annotations

from slurmhooks.files import plugstack
from slurmhooks.handlers.loader import Source
from slurmhooks.log import LEVELS, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FILE_NAME = ".manifest"
POINTS = ("scrun", "cli_filter", "node")
"""The plugin points that take their hook files from slurmhooks.toml alone, by their names in the manifest."""


def default_path() -> str:
    """Return the path of the manifest, which is in the set in force."""
    from slurmhooks.files import home

    return f"{home.folder()}/{home.SET}/{FILE_NAME}"


def records(content: bytes, args: Sequence[str], point: str | None = None) -> list[list[str]] | None:
    """Return the records of a line or of a plugin point; None if the manifest does not have it, or is damaged.

    The place and size of a hook file's content are replaced by this.

    ``args`` are those of the line of plugstack.conf; ``point``, one of :data:`POINTS`, is in place of a line.
    """
    rows: list[list[str]] | None = None
    inside = exact = False
    wanted = plugstack.split(args)[:2]
    head, _, texts = content.partition(b"\nend\n")
    try:
        for row in head.decode("utf-8", "surrogateescape").split("\n"):
            kind, *words = row.split(" ")
            begins = kind == "line" or kind in POINTS
            if not begins and not inside:
                continue
            words = [kind, *map(decoded, words)]
            if begins:
                inside = words == [point] if point is not None else _is_line(words, wanted)
                if inside:
                    rows, exact = [], words[1:] == list(args)
            elif rows is not None:
                if kind == "source" and len(words) > 2:
                    start, size = map(int, words[2:])
                    words[2:] = [texts[start : start + size].decode("utf-8", "surrogateescape")]
                rows.append(words)
                # The options of Lua scripts may depend on all arguments.
                if words[0] == "lua" and point is None and not exact:
                    rows, inside = None, False
    except ValueError:
        return None
    return rows


def _is_line(words: Sequence[str], wanted: tuple[str | None, str | None]) -> bool:
    """Tell whether a record is for a line of plugstack.conf that names certain files; other words do not matter."""
    return words[0] == "line" and plugstack.split(words[1:])[:2] == wanted


def sources(rows: Sequence[Sequence[str]]) -> list[Source]:
    """Return the sources that the manifest names, and apply its ``log`` record."""
    for words in rows:
        if words[0] == "log" and len(words) == 3 and words[1] in LEVELS:
            log.limit(words[1], int(words[2]))
    return [
        Source(
            path=words[1] if words[0] == "source" else None,
            module=words[1] if words[0] == "module" else None,
            packages=words[1] if words[0] == "packages" else None,
            text=words[2].encode("utf-8", "surrogateescape") if words[0] == "source" and len(words) > 2 else None,
        )
        for words in rows
        if words[0] in ("source", "module", "packages")
    ]


def of_scripts(rows: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[str]]:
    """Return the words of the Lua library for the scripts of a line, and the names of its options in the order of C."""
    lua = next((words[1:] for words in rows if words[0] == "lua"), ())
    return lua, [words[4] for words in rows if words[0] == "option"]


def decoded(word: str) -> str:
    """Return a word of a record, in which ``%XX`` represents a special character."""
    if "%" not in word:
        return word
    parts = word.encode("utf-8", "surrogateescape").split(b"%")
    raw = parts[0] + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in parts[1:])
    return raw.decode("utf-8", "surrogateescape")
