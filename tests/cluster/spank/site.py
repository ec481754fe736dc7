# SPDX-License-Identifier: GPL-2.0-or-later
"""Set up a cluster like a site: hook files, plugstack.conf, slurm.conf; and read the records of handlers."""

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS_D = "/etc/slurm/hooks.d"
PLUGSTACK = "/etc/slurm/plugstack.conf"
SLURM_CONF = "/etc/slurm/slurm.conf"
RECORDS_D = "/opt/spank"
RECORDS = f"{RECORDS_D}/records"
"""The file for records, one JSON object per line, which daemons, users' commands and tasks can write."""
PLUGIN = "/usr/local/lib/slurm/spank_python.so"
HERE = Path(__file__).parent

Done = subprocess.CompletedProcess[str]


class Site:
    """A running cluster with a site's files; ``since`` is its release as two numbers, for comparisons."""

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster
        self.since = cluster.version

    def shell(self, command: str, user: str = "alice", **env: str) -> Done:
        """Run a shell command; standard error follows standard output."""
        words = ("sh", "-c", f"exec 2>&1; {command}")
        if user == "root":
            self.cluster.deploy_changes()
            return self.cluster.root(*words, env=env)
        return self.cluster.user(user, *words, env=env)

    def root(self, command: str) -> str:
        """Run a shell command as root that must succeed."""
        return self.cluster.root("sh", "-c", command, check=True).stdout

    def hooks(self, **files: str) -> None:
        """Write exactly these hook files to hooks.d."""
        self.root(f"rm -rf {HOOKS_D}/*")
        self.cluster.changed()
        for stem, text in files.items():
            self.cluster.put(text, f"{HOOKS_D}/{stem}.py")

    def plugstack(self, *lines: str) -> None:
        """Write exactly these lines to plugstack.conf."""
        self.cluster.put("".join(f"{line}\n" for line in lines), PLUGSTACK)

    def without_manifest(self) -> None:
        """Deploy, and remove what launches read of the set first, so that each of them loads the files of the set."""
        self.cluster.deploy()
        self.root("rm /etc/slurm/slurmhooks.set/.manifest")

    def forget_records(self) -> None:
        """Start a new file of records, with the present sources in force: deploying them may write records, too."""
        self.cluster.deploy_changes()
        self.root(f"mkdir -p {RECORDS_D}; chmod 755 {RECORDS_D}; : > {RECORDS}; chmod 666 {RECORDS}")

    def records(self) -> list[dict[str, Any]]:
        """Return the records of handlers, in order."""
        return [json.loads(line) for line in self.root(f"cat {RECORDS}").splitlines()]

    def wait_for_records(self, least: int = 1, /, **wanted: object) -> list[dict[str, Any]]:
        """Wait for a number of records with these values, because some callbacks run after a command; return them."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [
                record for record in self.records() if all(record.get(name) == value for name, value in wanted.items())
            ]
            return len(found) >= least

        self.cluster.wait(there, what=f"record with {wanted}")
        return found

    def job(self, job_id: int) -> dict[str, str]:
        """Return the fields that scontrol shows for a job."""
        text = self.root(f"scontrol --oneliner show job {job_id}")
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait_for_job(self, job_id: int) -> str:
        """Wait until a job has ended and its node is free; return the job's state."""
        self.cluster.wait(
            lambda: (
                self.job(job_id)["JobState"] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")
            ),
            what=f"end of job {job_id}",
        )
        return self.job(job_id)["JobState"]

    def wait_until_idle(self) -> None:
        """Wait until no job holds a node."""
        self.cluster.wait(lambda: not self.root("squeue --noheader").strip(), what="end of all jobs")

    def drained(self) -> list[str]:
        """Return the nodes that accept no jobs."""
        return self.root("sinfo --noheader --Node --states=drain,drained,draining --format %N").split()

    def resume(self) -> None:
        """Resume all drained nodes."""
        for name in set(self.drained()):
            self.root(f"scontrol update nodename={name} state=resume")


def site(cluster: "Cluster", **slurm_conf: str) -> Site:
    """Return the site of a cluster, which is fresh for each test file; daemons restart for changes of slurm.conf."""
    lent = Site(cluster)
    lent.forget_records()
    if slurm_conf:
        before = lent.root(f"cat {SLURM_CONF}").splitlines()
        kept = [row for row in before if row.split("=")[0] not in slurm_conf]
        rows = [f"{name}={value}" for name, value in slurm_conf.items()]
        cluster.put("\n".join([*kept, *rows, ""]), SLURM_CONF)
        cluster.restart()
    return lent


def settle(lent: Site) -> None:
    """Remove everything of an earlier test."""
    lent.root("scancel --user=alice")
    lent.wait_until_idle()
    lent.resume()


def job_id_of(output: str) -> int | None:
    """Return the id of the job in the output of a Slurm command, or None."""
    match = re.search(r"(?:Submitted batch job|allocation|job|JobId=|JOB=) ?(\d+)", output)
    return int(match.group(1)) if match else None
