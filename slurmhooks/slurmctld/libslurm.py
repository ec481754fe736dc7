# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes the actions of periodic handlers by calls of libslurm, in a process in which nothing else has loaded it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.log import log
from slurmhooks.slurmctld.actions import UPDATES_OF_NODES, WAITING
from slurmhooks.slurmctld.effects import RUNNING
from slurmhooks.values import NO_VAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.slurmctld.action import Action

LIBRARY = "libslurmhooks_actions.so"


class Slurm:
    """Calls of libslurm, see native/actions/actions.c."""

    def __init__(self, slurm_conf: Path) -> None:
        """Load the library.

        Raises:
            OSError: it cannot be loaded.
        """
        library = ctypes.CDLL(str(path()), mode=ctypes.RTLD_GLOBAL)  # Slurm's plugins find libslurm's symbols there
        library.slurmhooks_error.restype = ctypes.c_char_p
        library.slurmhooks_open_slurm(os.fsencode(slurm_conf) if slurm_conf.exists() else None)
        self._library = library
        self._free = ctypes.CDLL(None).free

    def take(self, action: Action) -> str | None:
        """Take an action; return why that failed, or None. May wait for slurmctld.

        What users may have written leaves as one escaped line; only new values are data, and stay as they are.
        """
        return self._error(self._take(action))

    def note(self, target: str, job_id: int, comment: str) -> str | None:
        """Set the admin_comment of a job; return why that failed, or None. May wait for slurmctld.

        ``target`` is the job as users write it, ``comment`` a reason as one line, beside what is in the comment
        already.
        """
        code, job = self._named(target, job_id)
        return self._error(code or self._library.slurmhooks_note(job, _bytes(comment)))

    def has_begun(self, job_id: int, node: str) -> bool | None:
        """Tell whether the script of a batch job has begun, so that a line reaches it; None: its node has not said so.

        May wait for the node.
        """
        call = self._library.slurmhooks_has_begun
        answer, lines = _with_lines(lambda: call(ctypes.c_uint32(job_id), _bytes(node)))
        for line in lines:  # that a script has not begun is no error, but libslurm says so in lines of that level
            (log.debug if answer == 0 else log.error)("job %d, %s: %s", job_id, node, line)
        return None if answer < 0 else answer == 1

    def _error(self, code: int) -> str | None:
        if not code:
            return None
        text: bytes = self._library.slurmhooks_error(code)
        return text.decode("utf-8", "replace")

    def _take(self, action: Action) -> int:
        library = self._library
        code, target = self._named(action.target, action.job_id or 0)
        if code:
            return code
        job_id, text = ctypes.c_uint32(action.job_id or 0), _bytes(action.line)
        match action.kind:
            case "cancel":
                if action.state[-1] == RUNNING:
                    library.slurmhooks_notify(job_id, b"cancelled: " + text)
                code = library.slurmhooks_cancel(target)
            case "hold":
                code = library.slurmhooks_hold(target)
            case "release":
                code = library.slurmhooks_release(target)
            case "requeue":
                code = library.slurmhooks_requeue(target)
            case "notify":
                code = library.slurmhooks_notify(job_id, text)
            case "drain":
                code = library.slurmhooks_drain(target, text)
            case "undrain":
                code = library.slurmhooks_undrain(target)
            case "update" if action.job_id is not None:
                code = library.slurmhooks_update_job(target, action.message, ctypes.c_size_t(len(action.message)))
            case "update":
                values = (action.fields.get(name) for name in UPDATES_OF_NODES[:-1])
                texts = (None if value is None else _bytes(value) for value in values)
                weight = action.fields.get("weight", NO_VAL[32])
                code = library.slurmhooks_update_node(target, *texts, ctypes.c_uint32(weight))
        return int(code)

    def _named(self, target: str, job_id: int) -> tuple[int, bytes]:
        """Return an error number, and what Slurm calls a job or node: of a job array, the tasks that wait now."""
        if not target.endswith(WAITING):
            return 0, _bytes(target)
        name = ctypes.c_char_p()
        array = ctypes.c_uint32(int(target.removesuffix(WAITING)))
        code = self._library.slurmhooks_waiting_tasks(ctypes.c_uint32(job_id), array, ctypes.byref(name))
        value = name.value or b""
        self._free(name)
        return int(code), value


def _with_lines(call: Callable[[], int]) -> tuple[int, list[str]]:
    """Return the result of a call, and the lines that it has written to standard error, which do not get there."""
    kept, written = os.dup(2), os.memfd_create("libslurm")
    try:
        os.dup2(written, 2)
        try:
            result = call()
        finally:
            os.dup2(kept, 2)
        return result, os.pread(written, os.fstat(written).st_size, 0).decode("utf-8", "replace").splitlines()
    finally:
        os.close(kept)
        os.close(written)


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def path() -> Path:
    """Return the path of the library, beside the tables of the build."""
    return Path(str(sys._xoptions.get("slurmhooks_plugins"))) / LIBRARY
