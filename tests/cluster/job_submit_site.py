# SPDX-License-Identifier: GPL-2.0-or-later
"""A site with job_submit hooks in a real cluster: its files, its users' commands, its log."""

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from tests.cluster.conftest import Cluster

HOOKS_D = "/etc/slurm/hooks.d"
TOML = "/etc/slurm/slurmhooks.toml"
CONF = "/etc/slurm/local.conf"
DEFAULT_TOML = '[rules]\nnotices = "always"\n[hooks]\npaths = ["hooks.d/*.py"]\n'
UNANSWERED = "slurmhooks: the job_submit hooks did not answer (error "
NOT_LOADED = "slurmhooks: the hooks could not be loaded (error "
"""The text for users while no worker can serve."""
FOLDER = "/var/tmp/told"
"""The folder for records of handlers, which everybody may write."""

PREAMBLE = f"""\
import fcntl, json, os
from slurmhooks import Reject, hook, log
def tell(**what):
    with open("{FOLDER}/told", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(what) + "\\n")

"""


class Site:
    """The hooks of one cluster, and their effects."""

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster
        self.release = cluster.version
        self._logged = 0

    def clear(self) -> None:
        """Remove all hooks and records."""
        self.cluster.root("sh", "-c", f"rm -rf {HOOKS_D}/* {FOLDER}; mkdir -m 777 {FOLDER}", check=True)
        self.cluster.put(DEFAULT_TOML, TOML)

    def reset(self) -> None:
        """Remove all hooks, jobs and records, and ignore the present log in :meth:`logged`."""
        self.clear()
        self.cluster.root("sh", "-c", "scancel --state=PENDING; scancel --state=RUNNING")
        self.mark()

    def hooks(self, source: str, name: str = "life.py") -> None:
        """Write a hook file below the preamble."""
        self.cluster.put(PREAMBLE + textwrap.dedent(source), f"{HOOKS_D}/{name}")

    def conf(self, lines: str) -> None:
        """Write these lines of slurm.conf, and restart slurmctld with them."""
        self.cluster.put(lines, CONF)
        self.cluster.restart()

    def mark(self) -> None:
        """Ignore the present log in :meth:`logged`."""
        self._logged = len(self.cluster.log())

    def logged(self) -> str:
        """Return the lines of slurmctld's log since :meth:`mark`."""
        return self.cluster.log()[self._logged :]

    def run(self, *command: str, user: str = "alice") -> "subprocess.CompletedProcess[str]":
        """Run a command of a user, also of root, with the present sources in force."""
        self.cluster.deploy_changes()
        return self.cluster.user(user, *command) if user != "root" else self.cluster.root(*command)

    def said(self, *command: str, user: str = "alice") -> str:
        """Return the output of a command from both streams, whether it failed or not."""
        done = self.run(*command, user=user)
        return done.stdout + done.stderr

    def shell(self, script: str, user: str = "alice") -> str:
        """Run a shell script that must succeed, and return its output from both streams."""
        done = self.run("sh", "-ec", f"exec 2>&1\n{textwrap.dedent(script)}", user=user)
        assert done.returncode == 0, done.stdout + self.logged()[-3000:]
        return done.stdout

    def submit(self, *options: str, user: str = "alice") -> str:
        """Submit a batch job that stays pending, and return its id."""
        output = self.said("sbatch", "--hold", "--output=/dev/null", *options, "--wrap=true", user=user)
        match = re.search(r"Submitted batch job (\d+)", output)
        assert match, output + self.logged()[-3000:]
        return match[1]

    def refused(self, *options: str, user: str = "alice") -> str:
        """Submit a batch job that is refused, and return the output of sbatch."""
        done = self.run("sbatch", "--hold", "--output=/dev/null", *options, "--wrap=true", user=user)
        assert done.returncode != 0, done.stdout + done.stderr
        return done.stderr

    def show(self, job_id: str) -> dict[str, str]:
        """Return the fields that scontrol shows for a job, or for the first that it shows."""
        return shown(self.said("scontrol", "show", "job", "-o", job_id, user="root").splitlines()[0])

    def events(self) -> list[str]:
        """Return the records of LIFE since the start of the test, without removing them."""
        text = self.cluster.root("sh", "-c", f"cat {FOLDER}/told").stdout
        return [json.loads(line)["event"] for line in text.splitlines()]

    def told(self) -> list[dict[str, Any]]:
        """Return the records of handlers, and remove them; the lock keeps one that is written meanwhile."""
        file = f"{FOLDER}/told"
        done = self.cluster.root("sh", "-c", f"[ ! -e {file} ] || flock {file} sh -c 'cat {file} && : >{file}'")
        return [json.loads(line) for line in done.stdout.splitlines()]


def prepare(cluster: "Cluster", lines: str) -> Site:
    """Return the site of a cluster with these lines of slurm.conf, without hooks."""
    site = Site(cluster)
    site.clear()
    site.conf(lines)
    site.mark()
    return site


def with_records(cluster: "Cluster", rules: str = "") -> Site:
    """Return the site of a cluster with these rules, of which slurmctld sends the records; skip if it cannot."""
    if not cluster.has_sources:
        pytest.skip(f"NOT TESTED ON {cluster.release}: Debian has no sources of it")
    site = Site(cluster)
    site.clear()
    if rules:
        cluster.put(rules, TOML)
    site.conf("JobSubmitPlugins=python\n")
    return site


def lend(site: Site) -> "Iterator[Site]":
    """Lend the site to one test, without hooks and jobs; slurmctld must not log a fault of the plugin itself."""
    site.reset()
    yield site
    assert "error: slurmhooks: job_submit raised" not in site.logged()


def shown(line: str) -> dict[str, str]:
    """Parse a line of ``scontrol -o``."""
    pairs = re.split(r" +(?=[A-Z][\w:/]*=)", line.strip())
    return {name: value.strip() for name, _, value in (pair.partition("=") for pair in pairs)}
