# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs that submit jobs show of notices and refusals: the table of docs/clients.md, played.

SLURMHOOKS_TEST_NEWEST=1 takes their newest versions instead of those in the table.
"""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.cluster.scenes import HOOKS_D

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.soak

PAGE = Path(__file__).parents[2] / "docs/clients.md"
HOOK = """
from slurmhooks import Reject, hook, log

@hook.job_submit
def site(job):
    if job.account == "refuse":
        raise Reject("name a project\\nwith --account")
    log.user("ask for less\\nnext time")
"""
TEXTS = {"notice": ("ask for less", "next time"), "refuse": ("name a project", "with --account")}
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "any")
PROGRAMS = {
    "submitit": """
import submitit
executor = submitit.SlurmExecutor("jobs")
print("RESULT", executor.submit(int))
""",
    "simple-slurm": """
from simple_slurm import Slurm
print("RESULT", Slurm().sbatch("true"))
""",
    "qtoolkit": """
from qtoolkit.io.slurm import SlurmIO
from qtoolkit.host.local import LocalHost
from qtoolkit.manager import QueueManager
print("RESULT", QueueManager(SlurmIO(), LocalHost()).submit(["true"]))
""",
    "psij-python": """
from psij import Job, JobExecutor, JobSpec
job = Job(JobSpec("/bin/true"))
JobExecutor.get_instance("slurm").submit(job)
print("RESULT", job.native_id)
import os
os._exit(0)  # it goes on asking for the job
""",
    "dask-jobqueue": """
import time
from dask_jobqueue import SLURMCluster
cluster = SLURMCluster(cores=1, memory="100MB", interface="lo")
cluster.scale(1)
for _ in range(100):
    time.sleep(0.1)
    if any(worker.status.name == "running" for worker in cluster.workers.values()):
        break
print("RESULT", [(worker.status.name, worker.job_id) for worker in cluster.workers.values()])
import os
os._exit(0)
""",
    "parsl": """
from parsl.launchers import SimpleLauncher
from parsl.providers import SlurmProvider
provider = SlurmProvider(partition=None, init_blocks=0, launcher=SimpleLauncher(), walltime="00:01:00")
provider.script_dir = "."
print("RESULT", provider.submit("true", 1))
""",
    "reframe-hpc": """
import os, pathlib, sys
pathlib.Path("site.py").write_text('''
site_configuration = {"systems": [{"name": "lab", "hostnames": [".*"], "partitions": [{"name": "all",
    "scheduler": "squeue", "launcher": "local", "environs": ["builtin"]}]}],
    "environments": [{"name": "builtin"}]}
''')
pathlib.Path("check.py").write_text('''
import reframe as rfm
import reframe.utility.sanity as sn
@rfm.simple_test
class Check(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"
    @sanity_function
    def holds(self):
        return sn.assert_true(True)
''')
from reframe.frontend.cli import main
sys.argv = ["reframe", "-J", f"account={os.environ['SBATCH_ACCOUNT']}", "-C", "site.py", "-c", "check.py", "-r"]
main()
""",
    "nipype": """
from nipype.interfaces.utility import IdentityInterface
from nipype.pipeline.engine import Node, Workflow
flow = Workflow("flow", base_dir=".")
flow.add_nodes([Node(IdentityInterface(["a"]), "node", run_without_submitting=False)])
from nipype.pipeline.plugins import SLURMPlugin
import os, threading
threading.Timer(20, os._exit, [0]).start()  # after an error it waits for ever
print("RESULT", flow.run("SLURM"))
""",
}
"""How a user submits a job with each; SBATCH_ACCOUNT says what the hook does with it."""


class Row(NamedTuple):
    """A row of the table: where the user sees a notice, and the text of a refusal."""

    version: str
    notice: str
    refusal: str


def rows() -> dict[str, Row]:
    """Return the rows of the page's table, by the name of the package."""
    lines = re.findall(r"^\| `(\S+)` \| (\S+) \| (.*?) \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    return {name: Row(version, notice, refusal) for name, version, notice, refusal in lines}


def where(output: "subprocess.CompletedProcess[str]", texts: tuple[str, str]) -> str:
    """Return where the lines of a text are, in the words of the page."""
    terminal, _, trace = output.stderr.partition("Traceback")
    result = "".join(re.findall(r"^RESULT.*", output.stdout, re.MULTILINE))
    if all(text in result for text in texts):
        return "result"
    places = {
        "terminal": "".join(re.findall(r"^sbatch: .*", terminal, re.MULTILINE)),
        "exception": trace if output.returncode else "",
        "log": output.stdout + ("" if output.returncode else trace),
    }
    return " and ".join(name for name, said in places.items() if all(text in said for text in texts)) or "nowhere"


def installed(name: str, version: str, python: str, folder: Path) -> Path:
    """Install a package for the cluster's Python; return an archive of it."""
    needed = name if os.environ.get("SLURMHOOKS_TEST_NEWEST") else f"{name}=={version}"
    more = {"dask-jobqueue": ["distributed==2026.8.0"]}
    target = folder / name
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(target), "--python-version", python]
    done = subprocess.run(
        [*command, *platforms, "--only-binary=:all:", "--ignore-requires-python", needed, *more.get(name, [])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"NOT TESTED: {name} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    with tarfile.open(folder / "package.tar", "w") as file:
        file.add(target, name)
    return folder / "package.tar"


@pytest.fixture(scope="module")
def site(cluster: "Cluster") -> "Cluster":
    """A cluster with the hook file."""
    cluster.put(HOOK, f"{HOOKS_D}/site.py")
    cluster.deploy()
    return cluster


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_users_see(site: "Cluster", tmp_path: Path, name: str) -> None:
    """Each program shows notices and refusals where the table says."""
    row = rows()[name]
    python = site.root("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])", check=True).stdout.strip()
    site.put(installed(name, row.version, python, tmp_path), "/opt/package.tar")
    site.root("sh", "-ec", "mkdir -p /opt/clients && tar xf /opt/package.tar -C /opt/clients", check=True)
    site.put(PROGRAMS[name], "/opt/submit.py")
    seen = {}
    for case, texts in TEXTS.items():
        work = f"cd $(mktemp -d) && SBATCH_ACCOUNT={case} PYTHONPATH=/opt/clients/{name}"
        done = site.user("alice", "sh", "-c", f"{work} timeout 60 python3 /opt/submit.py")
        print(case, done.returncode, done.stdout, done.stderr, sep="\n")  # noqa: T201
        seen[case] = where(done, texts)
    assert (seen["notice"], seen["refuse"]) == (row.notice, row.refusal)


def test_every_program_has_a_row() -> None:
    """The table and the programs above are the same."""
    assert set(rows()) == set(PROGRAMS)
