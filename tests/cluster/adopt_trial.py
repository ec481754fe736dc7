# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs inside a cluster: tries a script in Slurm's own Lua plugin, in plain Lua and under slurmhooks.

Prints a list of two outcomes as JSON: Slurm's own plugin, then plain Lua; with a third argument, only the former.
"""

import json
import sys

from slurmhooks.fields.rows import release_of
from slurmhooks.lua import finding, job_fields
from slurmhooks.workshop.adopt import requests, trial
from slurmhooks.workshop.cli.commands.adopt import slurms_own

script, release_name, *only = sys.argv[1:]
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
outcomes = [trial.run_own(script, own, release, version, wanted, frozenset(fields))]
if not only:
    outcomes.append(trial.run(script, release, version, wanted, frozenset(fields)))
sys.stdout.write(json.dumps([vars(outcome) for outcome in outcomes]))
