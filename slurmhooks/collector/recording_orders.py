# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor's side of ``slurmhooks record``: starts and stops recordings, and reports their status."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from slurmhooks.log import log

if TYPE_CHECKING:
    from slurmhooks.recording.page import RecordingPage

START, STOP, STATUS = "record ", "record-stop", "record-status"
"""The requests of commands; START is followed by JSON: ``file``, ``seconds``, ``size``, ``with`` and ``tables``."""


def answer(text: str, page: RecordingPage) -> dict[str, Any]:
    """Answer a command."""
    if text == STATUS:
        return _status(page)
    if text == STOP:
        if not page.number:
            return {"findings": ["nothing is recorded"]}
        page.end()
        return _status(page)
    return _start(text.removeprefix(START), page)


def is_running(page: RecordingPage) -> bool:
    """Tell whether a recording is running, or its last requests are still being written."""
    return bool(page.orders) and page.status.get("ended") is None


def _status(page: RecordingPage) -> dict[str, Any]:
    return {"recording": page.orders, "status": page.status, "runs": is_running(page)}


def _start(text: str, page: RecordingPage) -> dict[str, Any]:
    """Order a recording. The collector creates the file, because a file system that hangs may not stop the supervisor.

    Its status says whether it could.
    """
    if is_running(page):
        return {"findings": [f"{page.orders['file']} is being recorded: 'slurmhooks record --stop' ends it"]}
    number = int(page.orders.get("number", 0)) % 255 + 1
    try:
        wanted = json.loads(text)
        what = {name: wanted[name] for name in ("file", "size", "with", "tables")}
        page.begin({"number": number, "until": time.time() + wanted["seconds"], **what})
    except (ValueError, RecursionError):  # the request was cut off, or the page has no room for it
        return {"findings": ["the name of FILE is too long"]}
    except (KeyError, TypeError):
        return {"findings": ["the command is of another release of slurmhooks"]}
    log.info("recording: requests go to %s", what["file"])
    return _status(page)
