# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of handlers: Slurm's own, at Slurm's levels.

In slurmctld, slurmd and slurmstepd it ends up in the daemon's log file, in srun, sbatch and salloc on the user's
terminal (levels above error only with ``-v``).

Handlers log what users wrote. So every text passes :func:`visible` before it leaves: no user can forge a line, move the
cursor of a terminal or fill a disk.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ERROR, INFO, VERBOSE, DEBUG, DEBUG2, DEBUG3, USER = range(7)
DEBUG4 = 7
"""Known to Lua scripts only; Slurm's next level below debug3."""
LEVELS = ("error", "info", "verbose", "debug", "debug2", "debug3", "user")
"""Slurm's names of the levels; their indices are what native/log.h takes."""

PREFIX = "slurmhooks: "
LIMIT = 4096
"""Most bytes of one record, unless ``[log] limit`` of the configuration says otherwise."""
WHOLE = 16
"""Most bytes of all records of one traceback, in limits of one record."""

_LAYOUT = "\n\t"
"""What a message to the user may hold besides printable characters."""
_SPACES = "\u00a0\u202f\u3000"
"""Blanks of written languages, which Python does not count as printable."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NOTE_SIZE = 40
"""More than the note on what was left out needs."""


def visible(text: str, kept: str = "", limit: int = 0) -> str:
    r"""Return a text in which nothing acts on a terminal or ends a line, and of limited length.

    Control characters, characters that change the direction of text, line separators and bytes that are not UTF-8 are
    escaped as in Python; ``\x9b`` is a byte, ``\u009b`` a character. Escaping twice changes nothing.

    Args:
        text: any text, undecodable bytes as ``surrogateescape`` leaves them.
        kept: characters that stay as they are.
        limit: most bytes of the result in UTF-8; 0: as many as there are. The end is cut, and a note takes its place.
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


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte, see surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return _SHORT.get(char) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


class Log:
    """Writes lines to Slurm's log.

    Each method takes a text, arguments for its ``%`` (as the logging module does) and fields, which are appended as
    ``name=value``. Each call writes one record; see :func:`visible` for what becomes of newlines and long texts.
    """

    __slots__ = ("_limit", "_most", "_record", "_sink", "_user")

    def __init__(self) -> None:
        """Write to standard error until a plugin point attaches Slurm's log."""
        self._sink: Callable[[int, str], None] | None = None
        self._user: Callable[[str], None] | None = None
        self._record: Callable[[str], None] | None = None
        self._most = DEBUG3
        self._limit = LIMIT

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Explain a level that Slurm does not have."""
            raise AttributeError(f"log has no {name!r}; its levels are Slurm's: {', '.join(LEVELS)}")

    def limit(self, level: str, size: int = LIMIT) -> None:
        """Drop what is said at lower levels, and cut longer records; ``[log]`` of the configuration.

        Args:
            level: one of :data:`LEVELS`.
            size: most bytes of a record, and of a message to the user.
        """
        self._most = LEVELS.index(level)
        self._limit = size

    def attach(
        self,
        sink: Callable[[int, str], None],
        user: Callable[[str], None],
        record: Callable[[str], None] | None = None,
    ) -> None:
        """Direct the lines to Slurm; for the plugin points.

        Args:
            sink: takes the index of a level and one line.
            user: takes the text of :meth:`user`.
            record: takes one line of :meth:`record`; by default, level error.
        """
        self._sink = sink
        self._user = user
        self._record = record

    def record(self, text: str, start: str = "") -> None:
        """Log what only administrators are to read, such as a traceback, one record a line.

        In processes whose errors reach the user's terminal this is another level or another log; the plugin point
        knows.

        Args:
            text: of several lines; the middle is left out if it exceeds :data:`WHOLE` times the limit of a record.
            start: precedes each line.
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
        """Show a text to the user of the command that caused this call, whether it is accepted or not.

        job_submit and job_modify: all texts of one call are shown together by sbatch, srun, salloc and scontrol
        (22.05's job_modify cannot: they go to slurmctld's log). SPANK: through slurm_spank_log(). scrun: on its
        standard error. Newlines stay; all else is as in the log.
        """
        text = self.message(_format(text, args, {}))
        if self._user is not None:
            self._user(text)
        else:
            self._print("user", text)

    def message(self, text: str) -> str:
        """Return a text of several lines as a user may see it."""
        return visible(text, _LAYOUT, self._limit)

    def write(
        self, level: int, text: str, args: tuple[object, ...] = (), fields: dict[str, object] | None = None
    ) -> None:
        """Log at a level given by its index in :data:`LEVELS`."""
        if level > self._most:
            return
        self._put(level, self._shown(_format(text, args, fields or {})))

    def plain(self, level: int, line: str) -> None:
        """Log a line as it is, without what our own begin with; for scripts whose lines administrators know."""
        line = visible(line, "", self._limit)
        if self._sink is not None:
            self._sink(level, line)
        else:
            self._print((*LEVELS, "debug4")[level], line)

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


def _format(text: str, args: tuple[object, ...], fields: dict[str, object]) -> str:
    """Return the line; a wrong format string is shown as it is: logging must not fail a job."""
    line = _shown(str, text)
    if args:
        # One mapping is for %(name)s, as in the module logging.
        values = args[0] if len(args) == 1 and isinstance(args[0], dict) and args[0] else args
        formatted = _attempt(lambda given: line % given, values)
        line = f"{line} {_shown(repr, args)}" if formatted is None else formatted
    if fields:
        line += "".join(f" {name}={_shown(repr, value)}" for name, value in fields.items())
    return line


def _shown(how: Callable[[object], str], value: object) -> str:
    """Return a value as text, its type if it cannot say more."""
    text = _attempt(how, value)
    return f"<{type(value).__name__}>" if text is None else text


def _attempt(how: Callable[[object], str], value: object) -> str | None:
    """Return a text, None if a site's ``__str__`` or ``__repr__`` raises."""
    try:
        return how(value)
    except Exception:  # noqa: BLE001 - whatever they raise
        return None


log = Log()
"""The log that hook files import."""
