# SPDX-License-Identifier: GPL-2.0-or-later
"""Set up a cluster as a site would: hook files, plugstack.conf, slurm.conf; and read what came out."""

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS_D = "/etc/slurm/hooks.d"
PLUGSTACK = "/etc/slurm/plugstack.conf"
SLURM_CONF = "/etc/slurm/slurm.conf"
RECORDS_D = "/opt/spank"
RECORDS = f"{RECORDS_D}/records"
"""Where handlers write, one JSON object a line: root's daemons, users' commands and tasks all reach it."""
PLUGIN = "/usr/local/lib/slurm/spank_python.so"
WHOLE_PLUGIN = f"ln -sf slurmhooks/spank_python-full.so {PLUGIN}.new && mv {PLUGIN}.new {PLUGIN}"
"""Puts the plugin back that offers Slurm all callbacks, after 'slurmhooks compile' chose one that offers less."""
HERE = Path(__file__).parent

Done = subprocess.CompletedProcess[str]


class Site:
    """A running cluster with a site's files.

    Attributes:
        cluster: what runs commands.
        release: of Slurm, such as "24.11".
    """

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster
        self.release = cluster.release

    @property
    def since(self) -> tuple[int, int]:
        """The release as two numbers, to compare."""
        year, month = self.release.split(".")
        return int(year), int(month)

    def shell(self, command: str, user: str = "alice", **env: str) -> Done:
        """Run a shell command; standard error follows standard output."""
        words = ("sh", "-c", f"exec 2>&1; {command}")
        if user == "root":
            return self.cluster.root(*words, env=env)
        return self.cluster.user(user, *words, env=env)

    def root(self, command: str) -> str:
        """Run a shell command as root that must succeed."""
        return self.cluster.root("sh", "-c", command, check=True).stdout

    def hooks(self, **files: str) -> None:
        """Have exactly these hook files, in hooks.d, and no manifest."""
        self.root(f"rm -rf {HOOKS_D}/* /etc/slurm/slurmhooks.manifest; {WHOLE_PLUGIN}")
        for stem, text in files.items():
            self.cluster.put(text, f"{HOOKS_D}/{stem}.py")

    def plugstack(self, *lines: str) -> None:
        """Have exactly these lines in plugstack.conf."""
        self.cluster.put("".join(f"{line}\n" for line in lines), PLUGSTACK)

    def compile(self) -> None:
        """Write the hook manifest."""
        self.cluster.root("slurmhooks", "compile", check=True)

    def forget_records(self) -> None:
        """Start a new file of records."""
        self.root(f"mkdir -p {RECORDS_D}; chmod 755 {RECORDS_D}; : > {RECORDS}; chmod 666 {RECORDS}")

    def records(self) -> list[dict[str, Any]]:
        """Return what handlers have recorded, in order."""
        return [json.loads(line) for line in self.root(f"cat {RECORDS}").splitlines()]

    def wait_for_records(self, least: int = 1, /, **wanted: object) -> list[dict[str, Any]]:
        """Return the records with these values, as soon as there are so many: some callbacks outlive a command."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [
                record for record in self.records() if all(record.get(name) == value for name, value in wanted.items())
            ]
            return len(found) >= least

        self.cluster.wait(there, what=f"record with {wanted}")
        return found

    def job(self, job_id: int) -> dict[str, str]:
        """Return what scontrol knows of a job, by its own names."""
        text = self.root(f"scontrol --oneliner show job {job_id}")
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait_for_job(self, job_id: int) -> str:
        """Return the state of a job once it is over and its node free again."""
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
        """Return the nodes that take no more jobs."""
        return self.root("sinfo --noheader --Node --states=drain,drained,draining --format %N").split()

    def resume(self) -> None:
        """Have all drained nodes back."""
        for name in set(self.drained()):
            self.root(f"scontrol update nodename={name} state=resume")


@contextlib.contextmanager
def site(cluster: "Cluster", **slurm_conf: str) -> Iterator[Site]:
    """Lend a cluster to one test file, and put it back as it was.

    Args:
        cluster: which.
        slurm_conf: parameters of slurm.conf to have other values; the daemons start again for them.
    """
    made = Site(cluster)
    before = {path: made.root(f"cat {path}") for path in (PLUGSTACK, SLURM_CONF)}
    folder = made.root(f"folder=$(mktemp -d) && cp -a {HOOKS_D}/. $folder/ && echo $folder").strip()
    made.forget_records()
    try:
        if slurm_conf:
            kept = [row for row in before[SLURM_CONF].splitlines() if row.split("=")[0] not in slurm_conf]
            rows = [f"{name}={value}" for name, value in slurm_conf.items()]
            cluster.put("\n".join([*kept, *rows, ""]), SLURM_CONF)
            cluster.restart()
        yield made
    finally:
        for path, text in before.items():
            cluster.put(text, path)
        made.hooks()
        made.root(f"cp -a {folder}/. {HOOKS_D}/ && rm -rf {folder}")
        made.resume()
        if slurm_conf:
            cluster.restart()


def job_id_of(output: str) -> int | None:
    """Return the id of the job that a command of Slurm speaks of, if it does."""
    found = re.search(r"(?:Submitted batch job|allocation|job|JobId=|JOB=) ?(\d+)", output)
    return int(found.group(1)) if found else None
