# SPDX-License-Identifier: GPL-2.0-or-later
"""A site with job_submit hooks in a real cluster: its files, its users' commands, what its log says."""

import json
import re
import shlex
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

    from tests.cluster.conftest import Cluster

HOOKS_D = "/etc/slurm/hooks.d"
TOML = "/etc/slurm/slurmhooks.toml"
CONF = "/etc/slurm/local.conf"
DEFAULT_TOML = f'[hooks]\npaths = ["{HOOKS_D}/*.py"]\n'
UNANSWERED = "slurmhooks: the job_submit hooks did not answer (error "
"""What a user is told where no worker can serve."""
FOLDER = "/var/tmp/told"
"""Where handlers write down what they saw; anybody may write there."""

PREAMBLE = f"""\
import json, os
from slurmhooks import Reject, hook, log

def tell(**what):
    with open("{FOLDER}/told", "a") as file:
        file.write(json.dumps(what) + "\\n")

"""


class Site:
    """The hooks of one cluster, and what came of them.

    Attributes:
        cluster: where they are.
        release: of Slurm, year and month.
    """

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster
        self.release = tuple(int(part) for part in cluster.release.split("."))
        self._logged = 0

    def clear(self) -> None:
        """Have no hooks and nothing told."""
        self.cluster.root(
            "sh",
            "-c",
            f"rm -rf {HOOKS_D}/* {FOLDER}; mkdir -m 777 {FOLDER}; printf %s {shlex.quote(DEFAULT_TOML)} > {TOML}",
            check=True,
        )
        # Handlers go two seconds after the configuration was written.
        self.reload(f"touch -d '1 minute ago' {TOML}")

    def reset(self) -> None:
        """Have no hooks, no jobs, nothing told, and forget the log so far."""
        self.clear()
        self.cluster.root("sh", "-c", "scancel --state=PENDING; scancel --state=RUNNING")
        self.mark()

    def hooks(self, source: str, name: str = "life.py", *, reload: bool = True) -> None:
        """Put a hook file in place, whole, under the preamble, and in force unless another change comes with it."""
        place(self.cluster, PREAMBLE + textwrap.dedent(source), f"{HOOKS_D}/{name}", reload=reload)

    def reload(self, first: str = "") -> str:
        """Run a shell command, have slurmctld's workers take up all files, and return what that says."""
        done = self.cluster.root("sh", "-c", f"{first}; slurmhooks reload" if first else "slurmhooks reload")
        return done.stdout + done.stderr

    def conf(self, lines: str) -> None:
        """Have these lines of slurm.conf, and a slurmctld that has read them."""
        self.cluster.put(lines, CONF)
        self.cluster.restart()

    def mark(self) -> None:
        """Forget the log so far."""
        self._logged = len(self.cluster.log())

    def logged(self) -> str:
        """Return what slurmctld has logged since :meth:`mark`."""
        return self.cluster.log()[self._logged :]

    def run(self, *command: str, user: str = "alice") -> "subprocess.CompletedProcess[str]":
        """Run a command of a user."""
        return self.cluster.user(user, *command) if user != "root" else self.cluster.root(*command)

    def said(self, *command: str, user: str = "alice") -> str:
        """Return what a command printed, on both streams, whether it failed or not."""
        done = self.run(*command, user=user)
        return done.stdout + done.stderr

    def shell(self, script: str, user: str = "alice") -> str:
        """Run a shell script that must succeed, and return what it printed on both streams."""
        done = self.run("sh", "-ec", f"exec 2>&1\n{textwrap.dedent(script)}", user=user)
        assert done.returncode == 0, done.stdout + self.logged()[-3000:]
        return done.stdout

    def submit(self, *options: str, user: str = "alice") -> str:
        """Submit a batch job that stays pending, and return its id."""
        said = self.said("sbatch", "--hold", "--output=/dev/null", *options, "--wrap=true", user=user)
        found = re.search(r"Submitted batch job (\d+)", said)
        assert found, said + self.logged()[-3000:]
        return found[1]

    def refused(self, *options: str, user: str = "alice") -> str:
        """Submit a batch job that is refused, and return what sbatch says."""
        done = self.run("sbatch", "--hold", "--output=/dev/null", *options, "--wrap=true", user=user)
        assert done.returncode != 0, done.stdout + done.stderr
        return done.stderr

    def show(self, job_id: str) -> dict[str, str]:
        """Return what scontrol shows of a job, or of the first that it shows."""
        return shown(self.said("scontrol", "show", "job", "-o", job_id, user="root").splitlines()[0])

    def events(self) -> list[str]:
        """Return what LIFE has told since the start of the test, and keep it."""
        told = self.cluster.root("sh", "-c", f"cat {FOLDER}/told").stdout
        return [json.loads(line)["event"] for line in told.splitlines()]

    def told(self) -> list[dict[str, Any]]:
        """Return what handlers told, and forget it."""
        done = self.cluster.root("sh", "-c", f"cat {FOLDER}/told && rm {FOLDER}/told")
        return [json.loads(line) for line in done.stdout.splitlines()]


def place(cluster: "Cluster", source: str, path: str, *, reload: bool = True) -> None:
    """Put a hook file in force, whole, even if it has fewer handlers than before; one that is wrong is only loaded."""
    script = f"cat > {path}.new; chmod 644 {path}.new; touch -d '1 minute ago' {path}.new; mv {path}.new {path}"
    if reload:
        script += "; slurmhooks reload 2>/dev/null || true"
    cluster.root("sh", "-ec", script, input=source, check=True)


def shown(line: str) -> dict[str, str]:
    """Take a line of ``scontrol -o`` apart."""
    pairs = re.split(r" +(?=[A-Z][\w:/]*=)", line.strip())
    return {name: value.strip() for name, _, value in (pair.partition("=") for pair in pairs)}
