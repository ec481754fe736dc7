# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that delivers power calls: where its spool is, whether calls wait in it, and who starts it.

Each power program starts it. If it is killed, the supervisor of any plugin of slurmctld starts it again.
"""

from __future__ import annotations

import os
import sys
import time

from slurmhooks.errors import ConfigError
from slurmhooks.files import locks, slurm_conf
from slurmhooks.files.bounded import bound
from slurmhooks.log import log

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


def place() -> str:
    """Return the folder of the power spool, in StateSaveLocation, which a backup controller shares."""
    return f"{slurm_conf.own_value('StateSaveLocation') or '/var/spool'}/slurmhooks/power"


def folder() -> Path:
    """Return :func:`place` as a path."""
    from pathlib import Path  # power programs do not need it before they have kept their call

    return Path(place())


def waits(spool: Path) -> bool:
    """Tell whether there are calls, or segments that are to be removed.

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
    return any(name.endswith(SEGMENT) for name in os.listdir(spool))


def start(spool: Path) -> subprocess.Popen[bytes]:
    """Start the process, outside the process group that slurmctld ends after a power program.

    Raises:
        OSError: it cannot be started.
    """
    import subprocess  # a supervisor needs it only then

    where = f"slurmhooks_sysconfdir={slurm_conf.directory()}"
    with (spool / LOG).open("ab") as lines:
        return subprocess.Popen(
            (sys.executable, "-I", "-X", "utf8", "-X", where, "-m", "slurmhooks.power.process", str(spool)),
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=lines,
            start_new_session=True,
        )


def to_system_log(text: str) -> None:
    """Write a line to the system's log: what is about a full disk cannot be in a file on it."""
    import syslog  # power programs keep their calls before they import more

    syslog.openlog("slurmhooks", facility=syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_ERR, text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0"))


class Watchdog:
    """Starts the process if calls wait and nothing delivers them; a site without power hooks has no spool."""

    def __init__(self) -> None:
        """Check at once."""
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
            spool = self._spool = self._spool or folder()
            bound(spool / LOG, MAX_LOG)  # programs that handlers have left running may write while nothing is delivered
            if waits(spool) and not self.pid and not _is_locked(spool):
                log.info("power calls wait in %s: starting their delivery", spool)
                self._process = start(spool)
            self._trouble = None
        except FileNotFoundError:
            self._trouble = None
        except (OSError, ConfigError) as error:
            if str(error) != self._trouble:
                log.error("power calls may wait in vain: %s", error)
            self._trouble = str(error)


def _is_locked(spool: Path) -> bool:
    """Tell whether a process delivers; one that finds the lock taken by this look is replaced by the caller's."""
    with (spool / LOCK).open("a") as lock:
        return not locks.take(lock.fileno())
