# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmhooks itself is upgraded, and put back, while slurmctld runs: two releases share spools and locks."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.lab import install

pytestmark = [pytest.mark.one_release, pytest.mark.stopped]

ROOT = Path(__file__).resolve().parents[2]
BIN = "/opt/slurmhooks/bin"
PLUGINS = "/usr/local/lib/slurm"
FOLDER = "/var/log/slurm"
DOWN = f"{FOLDER}/down"
LONG = 900.0
"""Seconds for a build, while other clusters share the machine."""

HOOKS = f"""
import json, os
from slurmhooks import Reject, hook

def note(*what):
    if what[0] != "every" and os.path.exists("{DOWN}"):
        raise RuntimeError("the service is down")
    fd = os.open("{FOLDER}/notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, (json.dumps(what) + "\\\\n").encode())
    os.close(fd)

@hook.job_submit
def need_comment(job):
    if not job.comment:
        raise Reject("please give a comment")
    job.admin_comment = "hooked"

@hook.job_end
def finished(record):
    note("job_end", record.job_id)

@hook.power.resume
def resume(nodes, event):
    note("resume", event.id)

@hook.power.suspend
def suspend(nodes, event):
    note("suspend", event.id)

@hook.every("10s")
def tick():
    note("every", 0)
""".replace("\\\\n", "\\n")
TOML = '[hooks]\npaths = ["/etc/slurm/hooks.d/*.py"]\n[power]\nbackoff = 1.0\n[job_end]\nbackoff = 1.0\n'


def former() -> list[str]:
    """Return the releases to come from: the last five tags; until there are tags, commits that are as far back."""
    git = ["git", "-C", str(ROOT)]
    tags = subprocess.run([*git, "tag", "--sort=-creatordate"], capture_output=True, text=True, check=False)
    return tags.stdout.split()[:5] or ["HEAD~50", "HEAD~100", "HEAD~200"]


class Machine:
    """A machine with hooks, on which slurmhooks can be replaced."""

    def __init__(self, cluster: Cluster, scratch: Path) -> None:
        """Begin with the working tree."""
        self.cluster = cluster
        self._scratch = scratch

    def shell(self, script: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a script of root, with the commands of slurmhooks on PATH."""
        return self.cluster.root("sh", "-c", f"PATH={BIN}:$PATH; {script}", check=check, timeout=LONG)

    def unpack(self, name: str, command: list[str], stdin: bytes = b"") -> None:
        """Put sources into the cluster."""
        archive = self._scratch / f"{name}.tar"
        archive.write_bytes(subprocess.run(command, input=stdin, capture_output=True, check=True).stdout)
        self.cluster.put(archive, f"/opt/{name}.tar")
        self.shell(f"rm -rf /opt/{name}; mkdir /opt/{name}; tar -C /opt/{name} -xf /opt/{name}.tar")

    def pip(self, name: str) -> None:
        """Install the Python package of a tree; nothing is restarted."""
        options = "-q --no-index --no-deps --no-build-isolation --force-reinstall"
        self.shell(f"pip install {options} /opt/{name}")

    def plugins(self, name: str) -> None:
        """Build and install its plugins, and restart slurmctld."""
        self.shell(f"slurmhooks build --slurm-source {install.SLURM_SOURCE} --output /opt/{name}-build")
        self.shell(f"slurmhooks install --from /opt/{name}-build --plugin-dir {PLUGINS}")
        self.cluster.restart("slurmctld")
        self.cluster.wait(lambda: "please give" in self.submit(""), what="policy")

    def submit(self, comment: str) -> str:
        """Submit a job that ends at once, and return what alice reads."""
        done = self.cluster.user("alice", "sbatch", f"--comment={comment}", "--wrap=true")
        return f"{done.stdout}{done.stderr}"

    def power(self, what: str) -> None:
        """Let slurmctld's power program be called."""
        user = "setpriv --reuid=slurm --regid=slurm --clear-groups env SLURM_CONF=/etc/slurm/slurm.conf"
        self.shell(f"{user} {PLUGINS}/slurmhooks_power_{what} n1")

    def notes(self, what: str) -> list[object]:
        """Return what handlers have noted."""
        text = self.shell(f"cat {FOLDER}/notes 2>/dev/null || :").stdout
        return [note[1] for note in map(json.loads, text.splitlines()) if note[0] == what]


@pytest.fixture(scope="module")
def machine(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Give a machine with hooks, and the sources of the working tree on it."""
    if subprocess.run(["git", "-C", ROOT, "rev-parse", former()[-1]], capture_output=True, check=False).returncode:
        pytest.skip("the former releases are not in this checkout")
    cluster.without_spank()
    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put("JobSubmitPlugins=python\nJobCompType=jobcomp/python\n", "/etc/slurm/local.conf")
    made = Machine(cluster, tmp_path_factory.mktemp("trees"))
    names = "\0".join(install._tree().files)
    cluster.restart()
    made.unpack("present", ["tar", "-C", str(ROOT), "--null", "-T", "-", "-cf", "-"], names.encode())
    return made


@pytest.mark.parametrize("release", [pytest.param(each, marks=pytest.mark.soak) for each in former()])
def test_up_and_down(machine: Machine, release: str) -> None:
    """Each call and each record is delivered once, to whichever release; modules that do not fit serve nothing."""
    machine.shell(f"rm -f {FOLDER}/notes {DOWN}")
    machine.unpack("former", ["git", "-C", str(ROOT), "archive", release])
    machine.pip("former")
    machine.plugins("former")

    jobs = 0
    for name in ("present", "former"):
        # Calls and records wait while the package is replaced under slurmctld, and come from both releases.
        machine.shell(f"touch {DOWN}")
        machine.power("suspend")
        assert "Submitted" in machine.submit("x")
        machine.pip(name)
        machine.power("resume")
        assert "Submitted" in machine.submit("x")
        jobs += 2
        machine.cluster.wait(lambda: "CD" not in machine.shell("squeue -h -t pd,r,cg").stdout, what="end of the jobs")
        machine.shell(f"rm {DOWN}")
        count = 1 if name == "present" else 2
        machine.cluster.wait(lambda count=count: len(machine.notes("suspend")) >= count, 300, "suspend")  # type: ignore[misc]
        machine.cluster.wait(lambda count=count: len(machine.notes("resume")) >= count, 300, "resume")  # type: ignore[misc]
        if name == "present":
            # A new supervisor of the present modules must not serve the former plugin.
            machine.shell("pkill -KILL -xo slurmhooks-sup")
            machine.cluster.wait(lambda: "did not answer" in machine.submit("x"), what="refusal")
            assert "build of slurmhooks" in machine.cluster.log()
            assert "restart slurmctld" in machine.cluster.log()
        machine.plugins(name)
        assert "Submitted" in machine.submit("x")
        jobs += 1
        expected = jobs
        machine.cluster.wait(lambda expected=expected: len(machine.notes("job_end")) >= expected, what="records")  # type: ignore[misc]

    # What would be delivered again would be by now: the spools are empty, and their processes have ended.
    for spool in ("spool", "spool --power"):
        empty = f"slurmhooks {spool} | grep ': 0 records wait'"
        machine.cluster.wait(lambda empty=empty: machine.shell(empty).stdout, what="empty spool")  # type: ignore[misc]
    machine.cluster.wait(lambda: machine.shell("pgrep -f 'slurmhooks[.]power'", check=False).returncode, what="end")
    for what, count in (("suspend", 2), ("resume", 2), ("job_end", jobs)):
        notes = machine.notes(what)
        assert len(notes) == len(set(map(str, notes))) == count, (what, notes)
    assert machine.notes("every")
