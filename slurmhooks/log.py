# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of handlers: Slurm's log, with Slurm's levels.

slurmctld, slurmd and slurmstepd write it to their log files; srun, sbatch and salloc to the user's terminal (levels
above error only with ``-v``).

Handlers log texts that come from users. Every text is therefore escaped and limited by :func:`visible`: no user can
forge a line, control a terminal or fill a disk. Of a text that a hook file or script wrote in several lines, each
further line is marked by :data:`CONTINUED`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Sink = Callable[[int, str], None]
    Show = Callable[[str], None]
    Attached = tuple[Sink | None, Show | None, Show | None]

ERROR, INFO, VERBOSE, DEBUG, DEBUG2, DEBUG3, USER = range(7)
DEBUG4 = 7
"""Slurm's level below debug3, for Lua scripts only."""
LEVELS = ("error", "info", "verbose", "debug", "debug2", "debug3", "user")
"""Slurm's names of the levels. Their indices are the numbers of native/log.h."""
NAMES = (*LEVELS, "debug4")
"""The names of all levels, including the one for Lua scripts only."""

PREFIX = "slurmhooks: "
LIMIT = 4096
"""Maximum size of a record in bytes, unless ``[log] limit`` of the configuration sets another one."""
WHOLE = 16
"""Maximum total size of the records of one traceback, as a multiple of the limit of one record."""

CONTINUED = "| "
"""Begins each further line of a text of several lines: no such line can be mistaken for a record of its own."""
MOST_LINES = 100
"""Maximum number of lines of such a text: the log adds a time to each."""

_LAYOUT = "\n\t"
"""Control characters that a message to the user may contain."""
_SPACES = "\u00a0\u202f\u3000"
"""Spaces of written languages that Python does not consider printable."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NOTE_SIZE = 40
"""Bytes that are reserved for the note on omitted text."""


def visible(text: str, kept: str = "", limit: int = 0) -> str:
    r"""Escape everything that could control a terminal or end a line, and limit the length.

    Control characters, characters that change the direction of text, line separators and bytes that are not UTF-8 are
    escaped as in Python; ``\x9b`` is a byte, ``\u009b`` a character. Escaping a result again does not change it.

    Args:
        text: any text; undecodable bytes are represented as by ``surrogateescape``.
        kept: characters that are not escaped.
        limit: maximum size of the result in bytes of UTF-8; 0 for no limit. A note replaces what is cut off at the end.
    """
    if text.isprintable() and (not limit or len(text) * 4 <= limit):
        return text
    pieces: list[str] = []
    size = fitting = 0
    for char in text:
        pieces.append(char if char.isprintable() or char in kept or char in _SPACES else _escape(char))
        size += len(pieces[-1].encode())
        if limit and size > limit:
            left = len(text[fitting:].encode("utf-8", "replace"))
            return "".join([*pieces[:fitting], f" [... {left} bytes left out]"])
        if size <= limit - _NOTE_SIZE:
            fitting = len(pieces)
    return "".join(pieces)


def one_line(text: str, limit: int, end: str = "") -> str:
    """Return a text as one line for whoever reads lines: the reason of a node, a comment, a line for a user.

    White space between two words becomes one space, everything else is escaped, then the line is cut.

    The result has at most ``limit`` bytes of UTF-8; ``end``, a few words at most, is appended and never cut.
    """
    shown = visible(end)
    cut = visible(" ".join(text.split()), limit=max(limit - len(shown.encode()), _NOTE_SIZE))
    return cut.removeprefix(" ") + shown  # nothing but the note about what is left out fits


def quoted(value: object) -> str:
    r"""Return the ``repr`` of a value, with bytes that are not UTF-8 as ``\\xff``, not as surrogates."""
    text = repr(value)
    if "\\udc" not in text:
        return text
    import re

    # An escaped backslash is matched first: what follows it is text.
    return re.sub(
        r"\\\\|\\udc([89a-f][0-9a-f])", lambda match: match[0] if match[1] is None else f"\\x{match[1]}", text
    )


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # an undecodable byte, from surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return _SHORT.get(char) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


class OfAccepted(str):
    """A message about what the request gets if it is accepted; whoever reads a refusal does not get it."""

    __slots__ = ()


class Log:
    """Writes records to Slurm's log.

    Each method takes a text, arguments for its ``%`` (as in the logging module), and fields, which are appended as
    ``name=value``. Each call writes one record, and a marked one for each further line of the text. Newlines in
    arguments and fields are escaped, a newline at the end is dropped, and long texts are cut; see :func:`visible`.
    """

    __slots__ = ("_limit", "_most", "_record", "_sink", "_user")

    def __init__(self) -> None:
        """Write to standard error, until a plugin attaches Slurm's log."""
        self._sink: Sink | None = None
        self._user: Show | None = None
        self._record: Show | None = None
        self._most = DEBUG3
        self._limit = LIMIT

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that lists Slurm's levels."""
            raise AttributeError(f"log has no {name!r}; its levels are Slurm's: {', '.join(LEVELS)}")

    def limit(self, level: str, size: int = LIMIT) -> None:
        """Set the lowest level to log and the size of records, as in ``[log]`` of the configuration.

        ``size`` is the maximum in bytes of a record, and of a message to the user.
        """
        self._most = LEVELS.index(level)
        self._limit = size

    def attach(self, sink: Sink | None, user: Show | None, record: Show | None = None) -> Attached:
        """Write to Slurm's log from now on; return the previous arguments, None for standard error. For the plugins.

        ``sink`` is called with the index of a level and one line, ``user`` with the text of :meth:`user`, ``record``
        with one line of :meth:`record`; by default, such lines have level error.
        """
        before = self._sink, self._user, self._record
        self._sink, self._user, self._record = sink, user, record
        return before

    def divert(self, user: Show | None) -> Show | None:
        """Redirect messages to the user; return the function that showed them before."""
        before, self._user = self._user, user
        return before

    def record(self, text: str, start: str = "") -> None:
        """Log a text of several lines for administrators, such as a traceback, with one record for each line.

        In a process whose errors reach the user's terminal, the plugin writes the text at another level or to another
        log.

        Args:
            text: its middle is omitted if it exceeds :data:`WHOLE` times the limit of a record.
            start: written before each line.
        """
        lines = text.split("\n")
        first, last = 0, len(lines)
        head: list[str] = []
        tail: list[str] = []
        room = self._limit * WHOLE // 2
        while first < last and room > 0:
            head.append(self._shown(start + lines[first]))
            room -= len(PREFIX) + len(head[-1])
            first += 1
        room = self._limit * WHOLE // 2
        while first < last and room > 0:
            last -= 1
            tail.append(self._shown(start + lines[last]))
            room -= len(PREFIX) + len(tail[-1])
        if first < last:
            head.append(f"{start}[... {last - first} lines left out]")
        for line in (*head, *reversed(tail)):
            if self._record is not None:
                self._record(PREFIX + line)
            else:
                self._put(ERROR, line)

    def error(self, text: str, /, *args: object, **fields: object) -> None:
        """Log at level error."""
        self.write(ERROR, text, args, fields)

    def info(self, text: str, /, *args: object, **fields: object) -> None:
        """Log at level info."""
        self.write(INFO, text, args, fields)

    def verbose(self, text: str, /, *args: object, **fields: object) -> None:
        """Log at level verbose."""
        self.write(VERBOSE, text, args, fields)

    def debug(self, text: str, /, *args: object, **fields: object) -> None:
        """Log at level debug."""
        self.write(DEBUG, text, args, fields)

    def debug2(self, text: str, /, *args: object, **fields: object) -> None:
        """Log at level debug2."""
        self.write(DEBUG2, text, args, fields)

    def debug3(self, text: str, /, *args: object, **fields: object) -> None:
        """Log at level debug3."""
        self.write(DEBUG3, text, args, fields)

    def user(self, text: str, /, *args: object) -> None:
        """Show a text to the user of the command that caused this call, whether or not the request is accepted.

        job_submit and job_modify: sbatch, srun, salloc and scontrol show all texts of one call together (with 22.05's
        job_modify, which cannot send them, they go to slurmctld's log). SPANK: written by slurm_spank_log(). scrun:
        written to its standard error. Newlines are kept; everything else is escaped and limited as in the log.
        """
        self._show(self.message(formatted(text, args, {}, own=False).rstrip("\n")))

    def of_accepted(self, text: str) -> None:
        """Show a text as :meth:`user` does, unless the request is refused."""
        self._show(OfAccepted(self.message(text)))

    def _show(self, text: str) -> None:
        if self._user is not None:
            self._user(text)
        else:
            self._print("user", text)

    def message(self, text: str) -> str:
        """Return a text of several lines, escaped and limited for a user."""
        return visible(text, _LAYOUT, self._limit)

    def write(
        self, level: int, text: str, args: tuple[object, ...] = (), fields: dict[str, object] | None = None
    ) -> None:
        """Log at a level given by its index in :data:`LEVELS`."""
        if level > self._most:
            return
        for line in lines_of(formatted(text, args, fields or {}), self._limit, PREFIX):
            self._put(level, line)

    def plain(self, level: int, text: str, own: bool = False) -> None:
        """Log a text without the prefix of slurmhooks. For Lua scripts, whose lines administrators know.

        ``own``: it is the script's own text, of perhaps several lines; otherwise newlines are escaped.
        """
        for line in lines_of(text if own else text.replace("\n", _SHORT["\n"]), self._limit, ""):
            if self._sink is not None:
                self._sink(level, line)
            else:
                self._print(NAMES[level], line)

    def _shown(self, line: str) -> str:
        return visible(line, "", self._limit - len(PREFIX))

    def _put(self, level: int, line: str) -> None:
        if self._sink is not None:
            self._sink(level, PREFIX + line)
        else:
            self._print(LEVELS[level], line)

    @staticmethod
    def _print(level: str, text: str) -> None:
        import sys

        if sys.stderr is not None:
            sys.stderr.write(f"{PREFIX}{level}: {text}\n")


def heard(messages: list[str], passed: bool) -> list[str]:
    """Return those of the messages of a request that its user reads."""
    return messages if passed else [text for text in messages if type(text) is not OfAccepted]


def coloured(text: str) -> str:
    r"""Return a text for the terminal of who asks: escaped colours (``\x1b[31m``) are colours again, until its end."""
    if "\\x1b[" not in text:
        return text  # most texts: spare them the import
    import re

    shown = re.sub(r"\\x1b(\[[0-9;]*m)", "\x1b\\1", text)
    ended = shown == text or shown.rpartition("\x1b[")[2].startswith(("0m", "m"))
    return shown if ended else f"{shown}\x1b[0m"


def lines_of(text: str, limit: int, prefix: str) -> list[str]:
    """Return the lines of a text for the log, escaped, without empty ones at the end; all but the first are marked.

    All lines together have at most ``limit`` bytes, with ``prefix``, which will be written before each.
    """
    text = text.rstrip("\n")
    if "\n" not in text:
        return [visible(text, "", limit - len(prefix))]
    rows = text.split("\n", MOST_LINES)
    left = rows[MOST_LINES:]
    size = limit - len(prefix) - (len(rows) - 1) * (len(prefix) + len(CONTINUED))
    first, *rest = visible("\n".join(rows[:MOST_LINES]), "\n", size).split("\n")
    if left:
        rest.append(f"[... {left[0].count(chr(10)) + 1} lines left out]")
    return [first, *(CONTINUED + line for line in rest)]


def printed(output: bytes) -> list[str]:
    """Return the lines of what code of the site has printed, for the log: escaped, and all marked.

    It may be a text of a user, so that no line may look like a record.
    """
    lines = output.decode("utf-8", "surrogateescape").rstrip("\n").split("\n")
    return [CONTINUED + visible(line) for line in lines]


def formatted(text: str, args: tuple[object, ...], fields: dict[str, object], own: bool = True) -> str:
    """Return the text with its arguments; with an invalid format string, the string and the arguments.

    Logging must not fail a job.

    ``own``: keep only the newlines of the format string, if it is a str, and escape those of arguments: users may have
    sent them. ``fields`` are appended.
    """
    line = shown(str, text)
    if own and not isinstance(text, str):  # such as an exception, whose text may have come from a user
        line = line.replace("\n", _SHORT["\n"])
    if args:
        # A single mapping is for %(name)s, as in the logging module.
        values = args[0] if len(args) == 1 and isinstance(args[0], dict) and args[0] else args
        result = attempt(lambda values: line % values, values)
        if result is not None and own and "\n" in result:
            result = _own_lines(line, values, result)
        line = f"{line} {shown(quoted, args)}" if result is None else result
    if fields:
        each = "".join(f" {name}={shown(quoted, value)}" for name, value in fields.items())
        line = line.rstrip("\n") + each.replace("\n", _SHORT["\n"])
    return line


def _own_lines(line: str, values: object, result: str) -> str | None:
    """Format again, so that only newlines of the format string are newlines in the result."""
    number = 0
    while f"\0{number}\1" in result:
        number += 1
    mark = f"\0{number}\1"
    marked = attempt(lambda values: line.replace("\n", mark) % values, values)
    return None if marked is None else marked.replace("\n", _SHORT["\n"]).replace(mark, "\n")


def shown(how: Callable[[object], str], value: object) -> str:
    """Return a value as text; if that raises, return its type."""
    text = attempt(how, value)
    return f"<{type(value).__name__}>" if text is None else text


def attempt(how: Callable[[object], str], value: object) -> str | None:
    """Return the text of a value; None if that raises, for example in its ``__str__`` or because of a wrong format."""
    try:
        return how(value)
    except Exception:  # noqa: BLE001 - code of the site may raise anything
        return None


log = Log()
"""The object that hook files import."""
