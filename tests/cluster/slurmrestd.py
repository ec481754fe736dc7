# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends requests to slurmrestd."""

import json

from tests.cluster.job_submit_site import Site

REST = {
    "22.05": ("v0.0.38", "openapi/v0.0.38"),
    "24.11": ("v0.0.42", "openapi/slurmctld"),
    "26.05": ("v0.0.45", "openapi/slurmctld"),
}
"""The newest version of slurmrestd's interface, and its plugin."""


def submission(site: Site, comment: str) -> dict[str, object]:
    """Return the body of a submission for slurmrestd."""
    job: dict[str, object] = {"name": "rest", "comment": comment, "current_working_directory": "/tmp"}
    script = "#!/bin/sh\ntrue\n"
    # A list since 23.11.
    job["environment"] = {"PATH": "/bin"} if site.release < (23, 11) else ["PATH=/bin"]
    return {"job": job, "script": script} if site.release < (23, 11) else {"job": {**job, "script": script}}


def post(site: Site, where: str, content: dict[str, object]) -> tuple[str, str]:
    """Post a request to slurmrestd; return its answer, and what it logs."""
    version, plugin = REST[site.cluster.release]
    body = json.dumps(content)
    head = (
        f"POST /slurm/{version}/job/{where} HTTP/1.1",
        "Host: ctl",
        "Content-Type: application/json",
        "Accept: application/json",
        "Connection: close",
        f"Content-Length: {len(body)}",
    )
    request = "\r\n".join((*head, "", body))
    # Through pipes of alice: slurmrestd checks the owner of its standard input.
    command = f"cat | timeout 60 slurmrestd -a rest_auth/local -s {plugin} | cat"
    done = site.cluster.user("alice", "sh", "-c", command, input=request)
    return done.stdout, done.stderr
