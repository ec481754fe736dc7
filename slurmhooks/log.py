# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of handlers: Slurm's own, at Slurm's levels.

In slurmctld, slurmd and slurmstepd it ends up in the daemon's log file, in srun, sbatch and salloc on the user's
terminal (levels above error only with ``-v``).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ERROR, INFO, VERBOSE, DEBUG, DEBUG2, DEBUG3, USER = range(7)
DEBUG4 = 7
"""Known to Lua scripts only; Slurm's next level below debug3."""
LEVELS = ("error", "info", "verbose", "debug", "debug2", "debug3", "user")
"""Slurm's names of the levels; their indices are what native/log_bridge.h takes."""

PREFIX = "slurmhooks: "


class Log:
    """Writes lines to Slurm's log.

    Each method takes a text, arguments for its ``%`` (as the logging module does) and fields, which are appended as
    ``name=value``. A text of several lines becomes several records.
    """

    __slots__ = ("_most", "_record", "_sink", "_user")

    def __init__(self) -> None:
        """Write to standard error until a plugin point attaches Slurm's log."""
        self._sink: Callable[[int, str], None] | None = None
        self._user: Callable[[str], None] | None = None
        self._record: Callable[[str], None] | None = None
        self._most = DEBUG3

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Explain a level that Slurm does not have."""
            raise AttributeError(f"log has no {name!r}; its levels are Slurm's: {', '.join(LEVELS)}")

    def limit(self, level: str) -> None:
        """Drop what is said at levels below one of :data:`LEVELS`: ``[log] level`` of the configuration."""
        self._most = LEVELS.index(level)

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

    def record(self, text: str) -> None:
        """Log what only administrators are to read, such as a traceback.

        In processes whose errors reach the user's terminal this is another level or another log; the plugin point
        knows.
        """
        for line in text.split("\n"):
            if self._record is not None:
                self._record(PREFIX + line)
            else:
                self.write(ERROR, line)

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
        standard error.
        """
        text = _format(text, args, {})
        if self._user is not None:
            self._user(text)
        else:
            self._print("user", text)

    def write(
        self, level: int, text: str, args: tuple[object, ...] = (), fields: dict[str, object] | None = None
    ) -> None:
        """Log at a level given by its index in :data:`LEVELS`."""
        if level > self._most:
            return
        for line in _format(text, args, fields or {}).split("\n"):
            if self._sink is not None:
                self._sink(level, PREFIX + line)
            else:
                self._print(LEVELS[level], line)

    def plain(self, level: int, line: str) -> None:
        """Log a line as it is, without what our own begin with; for scripts whose lines administrators know."""
        line = line.replace("\0", "\\0")
        if self._sink is not None:
            self._sink(level, line)
        else:
            self._print((*LEVELS, "debug4")[level], line)

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
    return line.replace("\0", "\\0")


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
