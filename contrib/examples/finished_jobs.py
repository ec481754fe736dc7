# SPDX-License-Identifier: GPL-2.0-or-later
"""Send one JSON object for each job that has ended to a web service, such as a billing system.

JobCompType=jobcomp/python: slurmctld does not wait for the service. A record is delivered again until the service has
taken it, so the service may get it twice: it recognizes one that it has by the idempotency key.
"""

import json
import urllib.error
import urllib.request

from slurmhooks import Reject, hook

SERVICE = "http://localhost:8080/jobs"
PATIENCE = 10.0


@hook.job_end(timeout=30)
def report(record, event):
    """Tell the service what the job was and what it used."""
    job = {
        "job_id": record.job_id,
        "start": record.restart_cnt,  # with the job id it names one run of a job that was requeued
        "user": record.user_name,
        "account": record.account,
        "partition": record.partition,
        "name": record.name,
        "state": record.job_state.name,
        "exit_code": record.exit_code,
        "submitted": record.submit_time,
        "started": record.start_time,
        "ended": record.end_time,
        "nodes": record.nodes,
        "tres": record.tres_fmt_alloc_str,
    }
    request = urllib.request.Request(SERVICE, json.dumps(job).encode())
    request.add_header("Content-Type", "application/json")
    request.add_header("Idempotency-Key", event.id)
    try:
        urllib.request.urlopen(request, timeout=PATIENCE).close()
    except urllib.error.HTTPError as error:
        if error.code in (400, 422):
            raise Reject(f"the service refuses the record: {error.reason}") from error  # it will not change its mind
        raise  # delivered again, as after any other failure
