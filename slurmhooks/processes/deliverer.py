# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers the calls of a plugin point: where its spool is, whether calls wait, and who starts it.

Each program that Slurm runs for the point starts it. If it is killed, the supervisor of any plugin of slurmctld starts
it again.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from slurmhooks.errors import ConfigError
from slurmhooks.files import locks, slurm_conf
from slurmhooks.files.bounded import bound
from slurmhooks.log import INFO, NAMES, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SEGMENT = ".spool"
"""How the name of a file in a spool ends that holds calls or records."""
LOCK = "lock"
"""The file that the process locks while it delivers."""
LOG = "log"
"""The file that has the lines of the process, and what programs of handlers print."""
MAX_LOG = 4 << 20
"""Bytes of the log; the file ``log.1`` has as many of the lines before."""
INTERVAL = 5.0
"""Seconds between two checks of a supervisor."""


def place(point: str) -> str:
    """Return the folder of the spool of a plugin point, in StateSaveLocation, which a backup controller shares."""
    return f"{slurm_conf.own_value('StateSaveLocation') or '/var/spool'}/slurmhooks/{point}"


def folder(point: str) -> Path:
    """Return :func:`place` as a path."""
    from pathlib import Path  # programs do not need it before they have kept their call

    return Path(place(point))


def waits(spool: Path) -> bool:
    """Tell whether there are calls, or segments that are to be removed.

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
    return any(name.endswith(SEGMENT) for name in os.listdir(spool))


def start(spool: Path) -> subprocess.Popen[bytes]:
    """Start the process, outside the process group that slurmctld ends after its program.

    Raises:
        OSError: it cannot be started.
    """
    import subprocess  # a supervisor needs it only then

    options = [f"slurmhooks_sysconfdir={slurm_conf.directory()}"]
    plugins = sys._xoptions.get("slurmhooks_plugins")
    options += [f"slurmhooks_plugins={plugins}"] if isinstance(plugins, str) else []
    with (spool / LOG).open("ab") as lines:
        return subprocess.Popen(
            (
                *(sys.executable, "-I", "-X", "utf8"),
                *(word for option in options for word in ("-X", option)),
                *("-m", f"slurmhooks.{spool.name}.process", str(spool)),
            ),
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=lines,
            start_new_session=True,
        )


def attach_log() -> None:
    """Write what handlers log to standard error, which is the log in the spool."""
    log.attach(_line, lambda text: _line(INFO, text))


def _line(level: int, text: str) -> None:
    """Write a line to the log in the spool, as Slurm's daemons write theirs; to the system's log if that is full."""
    name = "" if level == INFO else f"{NAMES[level]}: "
    line = f"[{time.strftime('%Y-%m-%dT%H:%M:%S')}] {name}{text}\n".encode("utf-8", "surrogateescape")
    with suppress(OSError):
        if os.write(2, line) == len(line):
            return
    to_system_log(text)


def to_system_log(text: str) -> None:
    """Write a line to the system's log: what is about a full disk cannot be in a file on it."""
    import syslog  # programs keep their calls before they import more

    syslog.openlog("slurmhooks", facility=syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_ERR, text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0"))


class Watchdog:
    """Starts the process if calls wait and nothing delivers them; a site without such hooks has no spool."""

    def __init__(self, point: str) -> None:
        self._point = point
        self._next = 0.0
        self._trouble: str | None = None
        self._spool: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id of the process that this supervisor has started; 0 if it has ended."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def check(self) -> None:
        """Start the process if one is needed, and the last check is some seconds ago."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + INTERVAL
        try:
            spool = self._spool = self._spool or folder(self._point)
            bound(spool / LOG, MAX_LOG)  # programs that handlers have left running may write at any time
            if waits(spool) and not self.pid and not _is_locked(spool):
                log.info("%s calls wait in %s: starting their delivery", self._point, spool)
                self._process = start(spool)
            self._trouble = None
        except FileNotFoundError:
            self._trouble = None
        except (OSError, ConfigError) as error:
            if str(error) != self._trouble:
                log.error("%s calls may wait in vain: %s", self._point, error)
            self._trouble = str(error)


def _is_locked(spool: Path) -> bool:
    """Tell whether a process delivers; one that finds the lock taken by this look is replaced by the caller's."""
    with (spool / LOCK).open("a") as lock:
        return not locks.take(lock.fileno())
