# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm fills in makes no difference between a job that is moved and one that is submitted, on real slurmctlds."""

import json
import re

import pytest

from slurmhooks.job_submit.filled import FILLED
from slurmhooks.rules.typed import NOT_IN_RECORDS, READABLE, ROWS, SENT
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, TOML, Site
from tests.cluster.turns import moved

pytestmark = [pytest.mark.stopped, pytest.mark.one_release("22.05", "24.11")]

FIELDS = sorted(name for name in set(READABLE) - NOT_IN_RECORDS if ROWS[name].members and not ROWS[name].since)
FIELDS.remove("job_id")
"""Those that all releases have and that users name."""
PLACES = {f"{rule[0]}-{name}": (rule, name) for name in FIELDS for rule in ("forbid", "require")}
"""Partitions, each with a rule on a field."""
SETS = {
    "burst_buffer": ("'x'", "BurstBuffer"),
    "comment": ("'x'", "Comment"),
    "contiguous": ("true", "Contiguous"),
    "core_spec": ("1", "CoreSpec"),
    "deadline": ("2030-01-01", "Deadline"),
    "nice": ("-5", "Nice"),
    "ntasks_per_node": ("2", "NtasksPerN:B:S:C"),
    "ntasks_per_socket": ("1", "NtasksPerN:B:S:C"),
    "open_mode": ("'OPEN_MODE_APPEND'", "OpenMode"),
    "priority": ("77", "Priority"),
    "reboot": ("true", "Reboot"),
    "requeue": ("false", "Requeue"),
    "shared": ("'JOB_SHARED_NONE'", "OverSubscribe"),
    "thread_spec": ("1", "ThreadSpec"),
}
"""Fields with a value that a rule sets, and how scontrol shows them."""
MOVED = {"comment", "requeue"}
"""Those of them that a user's update can set."""
JOBS = (
    "",
    "--nice=5 --no-requeue --mincpus=2 -N2 -n2 --mem=100 --time-min=1 -t5 --switches=1",
    "--mail-user=x --mail-type=END -c2 -O -d singleton --tmp=1 --comment=x --wckey=w",
    "-x n2 -D /tmp --ntasks-per-core=1 --ntasks-per-socket=1 --contiguous --spread-job --deadline=2030-01-01",
    "--nice=0 --requeue --mincpus=1 -N1 -n1 -c1 --no-kill=off",
)
"""Options of sbatch: nothing, much, and what Slurm would fill in itself."""
NAMES_DEFAULTS = 4
"""The last of them, which a user can tell from the first only at the submission."""
MOVE = """
import json, subprocess, sys
def accepted(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip() or "done" if done.returncode == 0 else None
submit = ["sbatch", "--hold", "--parsable", "-o", "/dev/null", "--wrap=true"]
places, seen = json.loads(sys.argv[1]), {}
job = accepted(*submit, "-p", "timed", *sys.argv[2:])
for place in places:
    new = accepted(*submit, "-p", place, *sys.argv[2:])
    moved = accepted("scontrol", "update", "JobId=" + job, "Partition=" + place)
    accepted("scontrol", "update", "JobId=" + job, "Partition=timed")
    if new:
        accepted("scancel", new)
    seen[place] = [bool(new), bool(moved)]
accepted("scancel", job)
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Site:
    """A cluster with such partitions."""
    if not cluster.has_sources:
        pytest.skip(f"NOT TESTED ON {cluster.release}: slurmctld sends no jobs to this build")
    site = Site(cluster)
    site.clear()
    rules = "".join(
        f'[[rule]]\nrule = "{rule}"\nname = "{place}"\nfield = "{field}"\npartitions = ["{place}"]\n'
        for place, (rule, field) in PLACES.items()
    )
    rules += "".join(
        f'[[rule]]\nrule = "set"\nfield = "{field}"\npartitions = ["set-{field}"]\nvalue = {value}\n'
        for field, (value, _) in SETS.items()
    )
    cluster.put(DEFAULT_TOML + rules, TOML)
    places = "".join(f"PartitionName={place} Nodes=ALL\n" for place in (*PLACES, *(f"set-{name}" for name in SETS)))
    site.conf(f"JobSubmitPlugins=python\nTrackWCKey=yes\n{places}PartitionName=timed Nodes=ALL DefaultTime=30\n")
    return site


@pytest.mark.moved
@pytest.mark.parametrize("options", [JOBS[1], *moved(JOBS[0], *JOBS[2:])])
def test_a_move_is_a_submission(site: Site, options: str) -> None:
    """A job may be moved to where a rule on any field counts exactly if it could be submitted there."""
    done = site.run("python3", "-c", MOVE, json.dumps(list(PLACES)), *options.split())
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    assert any(new for new, _ in seen.values())
    assert not all(new for new, _ in seen.values())
    differs = {place: pair for place, pair in seen.items() if pair[0] != pair[1]}
    if not options:
        refused = {place[2:] for place, (new, _) in seen.items() if place[0] == "f" and not new}
        assert refused.isdisjoint((*FILLED, *SENT))
    if options == JOBS[NAMES_DEFAULTS]:
        # A value that Slurm would fill in counts as unset, whoever has named it.
        differs = {place: pair for place, pair in differs.items() if pair != [place[0] == "r", place[0] == "f"]}
    assert not differs


@pytest.mark.moved
def test_a_moved_job_has_what_a_rule_sets(site: Site) -> None:
    """A job that an update takes to where a rule sets a value has it; if slurmctld would not let it, the job stays."""
    moved = set()
    for field, (_, key) in SETS.items():
        shown = [
            site.said(
                "sh",
                "-c",
                f"id=$(sbatch --parsable --begin=now+1hour -o /dev/null -p {first} --wrap=true)"
                f"; scontrol update JobId=$id Partition=set-{field} >/dev/null 2>&1; scontrol show job -o $id",
            )
            for first in (f"set-{field}", "timed")
        ]
        if f" Partition=set-{field} " in shown[1]:
            moved.add(field)
            new, old = (re.findall(f" {key}=[^ ]*", text) for text in shown)
            assert new == old != [], (field, shown)
    assert moved == MOVED
