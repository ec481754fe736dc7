# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of alice by slurmrestd, Debian's program for Slurm's web interface."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import pytest

from tests.cluster.accounting import MAKE_SECONDS
from tests.cluster.job_submit_site import Site

VERSIONS = {
    "22.05": ("v0.0.38", "openapi/v0.0.38"),
    "24.11": ("v0.0.42", "openapi/slurmctld"),
    "26.05": ("v0.0.45", "openapi/slurmctld"),
}
"""The newest version of slurmrestd's interface, and its plugin."""
SCRIPT = "#!/bin/sh\ntrue\n"


def install(site: Site) -> None:
    """Install slurmrestd in the cluster, or skip the test."""
    if site.cluster.release not in VERSIONS:
        pytest.skip("only Debian's slurmrestd is tested")
    site.cluster.tool("add", "slurmrestd", timeout=MAKE_SECONDS)


def submission(site: Site, **members: Any) -> dict[str, Any]:
    """Return the body of a submission, with some members of the job."""
    # A list since 23.11.
    environment = {"PATH": "/bin"} if site.release < (23, 11) else ["PATH=/bin"]
    job = {"current_working_directory": "/tmp", "environment": environment, **members}
    return {"job": job, "script": SCRIPT} if site.release < (23, 11) else {"job": {**job, "script": SCRIPT}}


def post(site: Site, *requests: tuple[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Post requests, each to a place below /job/; return the answers, and what slurmrestd logs."""
    version, plugin = VERSIONS[site.cluster.release]
    lines = []
    for where, content in requests:
        body = json.dumps(content)
        head = (
            f"POST /slurm/{version}/job/{where} HTTP/1.1",
            "Host: ctl",
            "Content-Type: application/json",
            "Accept: application/json",
            "Connection: close",
            f"Content-Length: {len(body)}",
        )
        # Through pipes of alice: slurmrestd checks the owner of its standard input.
        request = shlex.quote("\r\n".join((*head, "", body)))
        lines.append(f"printf %s {request} | timeout 60 slurmrestd -a rest_auth/local -s {plugin} | cat")
    done = site.cluster.user("alice", "sh", "-c", "\n".join(lines))
    return done.stdout, done.stderr
