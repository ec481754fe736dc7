# SPDX-License-Identifier: GPL-2.0-or-later
"""Start jobs with licences only while the licence server answers, and log their end.

With PrEpPlugins=prep/script,prep/python, slurmctld starts a job after these handlers have passed. They may be slow.
"""

import socket

from slurmhooks import Reject, hook, log
from slurmhooks.types import Record

SERVER = ("localhost", 27000)
PATIENCE = 5.0


@hook.controller_prolog(timeout=20)
def licenses_can_be_had(record: Record) -> None:
    """Refuse to start a job with licences while the licence server does not answer."""
    if not record.licenses:
        return
    try:
        socket.create_connection(SERVER, PATIENCE).close()
    except OSError as error:
        raise Reject(
            f"the licence server does not answer: {error.strerror or error}; the job is tried again"
        ) from error


@hook.controller_epilog(on_error="ignore")
def note_the_end(record: Record) -> None:
    """Log the licences that a job has returned."""
    if record.licenses:
        log.info("job gave its licences back", job=record.job_id, licenses=record.licenses)
