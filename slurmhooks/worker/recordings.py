# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor's side of ``slurmhooks record``: starts and stops recordings, and reports their status."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from slurmhooks.log import log
from slurmhooks.recording.file import create

if TYPE_CHECKING:
    from slurmhooks.recording.page import Page

START, STOP, STATUS = "record ", "record-stop", "record-status"
"""The requests of commands; START is followed by JSON: ``file``, ``seconds``, ``size``, ``with`` and ``tables``."""


def answer(text: str, page: Page) -> dict[str, Any]:
    """Answer a command.

    Args:
        text: the request.
        page: the shared page with the orders and the status of the recording.
    """
    if text == STATUS:
        return _status(page)
    if text == STOP:
        if not page.number:
            return {"findings": ["nothing is recorded"]}
        page.end()
        return _status(page)
    return _start(json.loads(text.removeprefix(START)), page)


def is_running(page: Page) -> bool:
    """Tell whether a recording is running, or its last requests are still being written."""
    return bool(page.orders) and page.status.get("ended") is None


def _status(page: Page) -> dict[str, Any]:
    return {"recording": page.orders, "status": page.status, "runs": is_running(page)}


def _start(wanted: dict[str, Any], page: Page) -> dict[str, Any]:
    if is_running(page):
        return {"findings": [f"{page.orders['file']} is being recorded: 'slurmhooks record --stop' ends it"]}
    file = str(wanted["file"])
    try:
        os.makedirs(os.path.dirname(file), 0o700, exist_ok=True)
        os.close(create(file))
    except OSError as error:
        return {"findings": [f"{file}: {error.strerror}; SlurmUser has to be able to create it: name another FILE"]}
    number = int(page.orders.get("number", 0)) % 255 + 1
    what = {name: wanted[name] for name in ("size", "with", "tables")}
    page.begin({"number": number, "file": file, "until": time.time() + wanted["seconds"], **what})
    log.info("recording: requests go to %s", file)
    return _status(page)
