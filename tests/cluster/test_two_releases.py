# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmhooks itself is upgraded, and put back, while slurmctld runs: two releases share spools and locks."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.lab import install

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.stopped]

ROOT = Path(__file__).resolve().parents[2]
BIN = "/opt/slurmhooks/bin"
PLUGINS = "/usr/local/lib/slurm"
FOLDER = "/var/log/slurm"
DOWN = f"{FOLDER}/down"
POWER_LOG = "/var/lib/slurm/slurmctld/slurmhooks/power/log"
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
def finished(event):
    note("job_end", event.id)

@hook.power.resume
def resume(nodes, event):
    note("resume", event.id)

@hook.power.suspend
def suspend(nodes, event):
    note("suspend", event.id)
""".replace("\\\\n", "\\n")
PERIODIC = """
@hook.every("10s")
def tick():
    note("every", 0)
"""
"""Needs Slurm's sources."""
CONF = f"""\
JobSubmitPlugins=python
JobCompType=jobcomp/python
ResumeProgram={PLUGINS}/slurmhooks/slurmhooks_power_resume
SuspendProgram={PLUGINS}/slurmhooks/slurmhooks_power_suspend
SuspendTime=600
SuspendExcNodes=n[1-2]
"""
"""Slurm itself starts and stops no node."""
TOML = '[hooks]\npaths = ["hooks.d/*.py"]\n[power]\nbackoff = 1.0\n'


def former() -> list[str]:
    """Return the releases to come from: the last five tags; until there are tags, commits that are as far back."""
    git = ["git", "-C", str(ROOT)]
    tags = subprocess.run([*git, "tag", "--sort=-creatordate"], capture_output=True, text=True, check=False)
    return tags.stdout.split()[:5] or ["HEAD~50", "HEAD~100", "HEAD~200"]


class Machine:
    """A machine with hooks, on which slurmhooks can be replaced."""

    def __init__(self, cluster: Cluster, scratch: Path) -> None:
        self.cluster = cluster
        self.sources = f"--slurm-source {install.SLURM_SOURCE}" if cluster.has_sources else ""
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
        self.shell(f"slurmhooks build {self.sources} --output /opt/{name}-build")
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
        self.shell(f"{user} $(find {PLUGINS} -name slurmhooks_power_{what} -type f) n1")  # where that release has it

    def notes(self, what: str) -> list[object]:
        """Return what handlers have noted."""
        text = self.shell(f"cat {FOLDER}/notes 2>/dev/null || :").stdout
        return [note[1] for note in map(json.loads, text.splitlines()) if note[0] == what]

    def delivers(self, count: int) -> bool:
        """Tell whether so many power calls of each kind have been delivered."""
        return all(len(self.notes(what)) >= count for what in ("suspend", "resume"))

    def is_stuck(self) -> bool:
        """Tell whether the process that delivers power calls is one that cannot."""
        return bool(
            self.shell(f"pgrep -f 'slurmhooks[.]power' && tail -n 1 {POWER_LOG} | grep 'no power call'", False).stdout
        )


@pytest.fixture(scope="module")
def machine(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Give a machine with hooks, and the sources of the working tree on it."""
    if subprocess.run(["git", "-C", ROOT, "rev-parse", former()[-1]], capture_output=True, check=False).returncode:
        pytest.skip("the former releases are not in this checkout")
    cluster.put("", "/etc/slurm/plugstack.conf")  # launches load nothing of any release
    cluster.put(HOOKS + PERIODIC * cluster.has_sources, "/etc/slurm/hooks.d/hooks.py")
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put(CONF, "/etc/slurm/local.conf")
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
        if name == "present":
            # A new supervisor of the present modules must not serve the former plugin.
            machine.shell("pkill -KILL -xo slurmhooks-sup")
            machine.cluster.wait(lambda: "tell your administrators" in machine.submit("x"), what="refusal")
            assert "build of slurmhooks" in machine.cluster.log()
            assert "restart slurmctld" in machine.cluster.log()
            machine.cluster.wait(lambda: machine.delivers(1) or machine.is_stuck(), 300, "delivery")
            if machine.is_stuck():
                # What former releases import from the present package does not fit; systemd ends them with slurmctld.
                machine.shell("pkill -KILL -f 'slurmhooks[.]power'")
        else:
            machine.cluster.wait(lambda: machine.delivers(2), 300, "delivery")
        machine.plugins(name)
        assert "Submitted" in machine.submit("x")
        jobs += 1
        machine.cluster.wait(lambda count=count: machine.delivers(count), 300, "delivery")  # type: ignore[misc]
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
    assert bool(machine.notes("every")) == machine.cluster.has_sources


@pytest.mark.soak
def test_an_upgrade_that_does_not_load_what_is_in_force(machine: Machine) -> None:
    """The plugins and the service stay until changed sources are named, which are in force after the restart.

    The next release lacks a key of this one.
    """
    machine.pip("present")
    machine.plugins("present")
    copy = "rm -rf /opt/next; cp -r /opt/present /opt/next; cd /opt/next/slurmhooks/config"
    machine.shell(f"{copy}; grep lua_order controller.py; sed -i '/lua_order: int = key/,/^    )/d' controller.py")
    machine.cluster.put(f"{TOML}[job_submit]\nlua_order = 60\n", "/etc/slurm/slurmhooks.toml")
    machine.cluster.deploy()
    files = f"find {PLUGINS} -type f -exec sha256sum {{}} + | sort"
    before = machine.shell(files).stdout
    machine.pip("next")
    machine.shell(f"slurmhooks build {machine.sources} --output /opt/next-build")
    install = f"slurmhooks install --from /opt/next-build --plugin-dir {PLUGINS}"
    refused = machine.shell(install, check=False)
    assert refused.returncode == 1, refused.stdout
    assert "/slurmhooks.toml: job_submit.lua_order: unknown key" in refused.stderr
    assert "--deploy COPY" in refused.stderr
    assert machine.shell(files).stdout == before
    assert "please give" in machine.submit("")
    machine.shell("rm -rf /opt/copy; mkdir /opt/copy; cp -r /etc/slurm/hooks.d /opt/copy")
    machine.cluster.put(f"{TOML}[job_submit]\ntimeout = 3.0\n", "/opt/copy/slurmhooks.toml")
    for _ in range(2):
        machine.shell(f"{install} --deploy /opt/copy")
        assert "please give" in machine.submit("")
    machine.cluster.restart("slurmctld")
    machine.cluster.wait(lambda: "please give" in machine.submit(""), what="policy")
    assert "Submitted" in machine.submit("x")
    assert "timeout = 3.0" in machine.shell("cat /etc/slurm/slurmhooks.set/slurmhooks.toml").stdout
