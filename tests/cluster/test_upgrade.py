# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm is upgraded and downgraded by hand under slurmhooks in a virtual environment, as docs/upgrade.md says.

Slurm's files come from the root file systems of the other releases, as their packages contain them: the headers are
older than everything that was ever built here.
"""

import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster, need_rootfs
from tests.cluster.lab import places, releases

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.moved, pytest.mark.stopped]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "upgrade.md"
PACKAGES = (
    r"slurmctld|slurmd|slurm-client|slurm-wlm-basic-plugins|libslurm-dev|libslurm\d.*|libhttp-parser.*|libllhttp.*"
)
BIN = "/opt/slurmhooks/bin"
PLUGINS = "/usr/local/lib/slurm"
LONG = 900.0
"""Seconds for a build, while other clusters share the machine."""

HOOKS = """
from slurmhooks import hook

@hook.job_submit
def comment(job):
    job.comment = "hooked"

@hook.spank.task_init
def greet(spank):
    spank.env["GREETING"] = "hooked"
"""
MUNGE = """
mkdir -p /run/munge /var/log/munge /var/lib/munge
chown munge: /run/munge /var/log/munge /var/lib/munge
pgrep -x munged || setpriv --reuid=munge --regid=munge --init-groups munged
"""


def hooked(cluster: Cluster) -> list[str]:
    """Run a job; return the effects of HOOKS on it, and errors."""
    done = cluster.user("alice", "srun", "sh", "-c", 'squeue -h -j $SLURM_JOB_ID -O "Comment:30"; echo "$GREETING"')
    return f"{done.stdout}{done.stderr}".split()


def files_of(release: str) -> list[str]:
    """Return the files of a release's packages, relative to the root."""
    need_rootfs(release)
    root = Path(places.rootfs(release))
    lists = [path for path in root.glob("var/lib/dpkg/info/*.list") if re.fullmatch(PACKAGES, name_of(path))]
    names = {line.lstrip("/") for path in lists for line in path.read_text().splitlines()}
    # Not links to folders, such as /lib; links to absolute names lead out of this root.
    return sorted(name for name in names if (root / name).is_file() or is_link(root / name))


def is_link(path: Path) -> bool:
    """Tell whether a path is a link to a file, as far as it can be told from outside its root."""
    return path.is_symlink() and not path.is_dir()


def name_of(path: Path) -> str:
    """Return the package that a list is of."""
    return path.stem.partition(":")[0]


def archive_of(release: str) -> bytes:
    """Return the files of a release's packages, with their times."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in files_of(release):
            if not name.startswith(("etc/", "usr/share/")):
                tar.add(Path(places.rootfs(release)) / name, name, recursive=False)
    return file.getvalue()


class Machine:
    """A machine whose Slurm can be replaced; its daemons are stopped meanwhile."""

    def __init__(self, cluster: Cluster, scratch: Path) -> None:
        self.cluster = cluster
        self.release = cluster.release
        self._scratch = scratch

    def shell(self, script: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a script of root, with the commands of slurmhooks on PATH."""
        return self.cluster.root("sh", "-c", f"PATH={BIN}:$PATH; {script}", check=check, timeout=LONG)

    def replace_slurm(self, release: str) -> None:
        """Do what a package manager does: remove the files of the former release, and unpack those of the new one."""
        self.shell("for file in /run/slurmctld.pid /run/slurmd-*.pid; do kill $(cat $file) || :; done 2>/dev/null")
        self.cluster.wait(lambda: self.shell("pgrep -x 'slurmctld.*|slurmd.*'", check=False).returncode, what="end")
        # No release reads the state of a later one.
        old = [name for name in files_of(self.release) if not name.startswith(("etc/", "usr/share/"))]
        self.cluster.put("\0".join(f"/{name}" for name in old), "/opt/old")
        archive = self._scratch / "slurm.tar"
        archive.write_bytes(archive_of(release))
        self.cluster.put(archive, "/opt/new.tar")
        self.shell("rm -rf /var/lib/slurm/slurmctld/*; xargs -0 rm -f </opt/old; tar -C / -xf /opt/new.tar; ldconfig")
        self.release = release
        lines, needs = "JobSubmitPlugins=python\n", releases.RELEASES[release]
        if needs.auth == "munge":
            lines += "AuthType=auth/munge\nCredType=cred/munge\n"
            self.shell(MUNGE)
        self.cluster.put(lines, "/etc/slurm/local.conf")
        self.cluster.put(f"CgroupPlugin={needs.cgroup_plugin}\n", "/etc/slurm/cgroup.conf")

    def by_hand(self) -> None:
        """Run the commands of the page that are not about systemd or apt."""
        block = PAGE.read_text().partition("## By hand")[2].partition("```sh\n")[2].partition("```")[0]
        commands = [line.partition("#")[0].strip() for line in block.splitlines() if line.startswith("slurmhooks ")]
        assert [line.split()[1] for line in commands] == ["build", "install", "info"]
        for command in commands:
            self.shell(command)


@pytest.fixture(scope="module")
def machine(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Give a machine with hooks, on which slurmhooks was built by hand."""
    if cluster.release == "22.05":
        pytest.skip("the C library of this Debian does not start the programs of later releases")
    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    made = Machine(cluster, tmp_path_factory.mktemp("slurm"))
    made.by_hand()
    cluster.restart()
    assert hooked(made.cluster) == ["hooked", "hooked"]
    return made


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
def test_up_and_down(machine: Machine, release: str) -> None:
    """After each change of Slurm, every command says that the plugins do not fit; after a build, the hooks run."""
    before = machine.release
    if before == release:
        pytest.skip("the machine has this release")
    machine.replace_slurm(release)
    for command in ("info", "check", "deploy", "status"):
        done = machine.shell(f"slurmhooks {command}", check=False)
        assert done.returncode == 1, (command, done.stdout)
        assert f"the plugins are built for Slurm {before}." in done.stderr, (command, done.stderr)
    refused = machine.shell(f"slurmhooks install --from {BIN}/../build", check=False)
    assert refused.returncode == 1
    assert f"the plugins are built for Slurm {before}." in refused.stderr
    machine.by_hand()
    machine.cluster.restart()
    assert hooked(machine.cluster) == ["hooked", "hooked"], machine.cluster.log()
