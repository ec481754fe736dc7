# SPDX-License-Identifier: GPL-2.0-or-later
"""Send a JSON object for each job that has ended to a web service, such as a billing system.

With JobCompType=jobcomp/python slurmctld does not wait. A record is sent again until the service accepts it; the
idempotency key lets the service recognize repeated records.
"""

import json
import urllib.error
import urllib.request

from slurmhooks import Reject, hook
from slurmhooks.types import Event, Record

SERVICE = "http://localhost:8080/jobs"
FIELDS = ("job_id", "restart_cnt", "user_name", "account", "partition", "name", "exit_code", "tres_fmt_alloc_str")
TIMES = ("submit_time", "start_time", "end_time")


@hook.job_end(timeout=30)
def report(record: Record, event: Event) -> None:
    """Send the job and its usage to the service."""
    job = {name: getattr(record, name) for name in (*FIELDS, *TIMES)}
    job["state"] = None if record.job_state is None else record.job_state.name
    headers = {"Content-Type": "application/json", "Idempotency-Key": event.id}
    request = urllib.request.Request(SERVICE, json.dumps(job).encode(), headers)
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except urllib.error.HTTPError as error:
        if error.code in (400, 422):  # a later attempt would fail too
            raise Reject(f"the service refuses the record: {error.reason}") from error
        raise  # sent again, as after any other failure
