# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs inside a cluster: tries a script under slurmhooks, and in Slurm's own Lua plugin; prints both as JSON."""

import json
import sys
from dataclasses import asdict

from slurmhooks.fields.rows import release_of
from slurmhooks.lua import finding, job_fields
from slurmhooks.workshop.adopt import requests, trial
from slurmhooks.workshop.cli.commands.adopt import slurms_own

script, release_name = sys.argv[1:]
release = release_of(release_name)
fields = set(job_fields.names("job_desc", release))
constants = ["gpu:2", "special", 7.0]
wanted = [
    request
    for hook in ("job_submit", "job_modify")
    for request in requests.generated(fields, constants, release_name, hook, 250)
]
version = finding.choose()
own = slurms_own(release)
assert own is not None
tried = trial.run(script, release, version, wanted, frozenset(fields))
compared = trial.compare(script, own, release, version, wanted, frozenset(fields))
sys.stdout.write(json.dumps([asdict(tried), asdict(compared)]))
