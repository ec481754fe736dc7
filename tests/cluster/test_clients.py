# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs that submit jobs show of notices and refusals, and how they pass an option: docs/clients.md, played.

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

from tests.cluster.accounting import MAKE_SECONDS
from tests.cluster.scenes import HOOKS_D

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.soak, pytest.mark.one_release("24.11")]

PAGE = Path(__file__).parents[2] / "docs/clients.md"
HOOK = """
from slurmhooks import Reject, hook, log

code = hook.spank.option("project-code", "CODE", usage="whose project it is")

@hook.job_submit
def site(job):
    with open("/var/log/slurm/asked", "w") as file:
        file.write(job.account)
    if job.account == "refuse":
        raise Reject("name a project\\nwith --account")
    if job.account == "notice" and code.of(job) != "X1":
        raise Reject("the option is missing")
    log.user("ask for less\\nnext time")
"""
TEXTS = {"notice": ("ask for less", "next time"), "refuse": ("name a project", "with --account")}
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "any")
PROGRAMS = {
    "submitit": """
import submitit
executor = submitit.SlurmExecutor("jobs")
executor.update_parameters(additional_parameters={"project_code": "X1"})
print("RESULT", executor.submit(int))
""",
    "simple-slurm": """
from simple_slurm import Slurm
print("RESULT", Slurm().sbatch("true", sbatch_cmd="sbatch --project-code=X1"))
""",
    "qtoolkit": """
from qtoolkit.io.slurm import SlurmIO
from qtoolkit.host.local import LocalHost
from qtoolkit.manager import QueueManager
options = {"qverbatim": "#SBATCH --project-code=X1"}
print("RESULT", QueueManager(SlurmIO(), LocalHost()).submit(["true"], options=options))
""",
    "psij-python": """
from psij import Job, JobAttributes, JobExecutor, JobSpec
job = Job(JobSpec("/bin/true", attributes=JobAttributes(custom_attributes={"slurm.project-code": "X1"})))
JobExecutor.get_instance("slurm").submit(job)
print("RESULT", job.native_id)
import os
os._exit(0)  # it goes on asking for the job
""",
    "dask-jobqueue": """
import time
from dask_jobqueue import SLURMCluster
cluster = SLURMCluster(cores=1, memory="100MB", interface="lo", job_extra_directives=["--project-code=X1"])
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
provider = SlurmProvider(partition=None, init_blocks=0, launcher=SimpleLauncher(), walltime="00:01:00",
    scheduler_options="#SBATCH --project-code=X1")
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
account = f"account={os.environ['SBATCH_ACCOUNT']}"
sys.argv = ["reframe", "-J", account, "-J", "project-code=X1", "-C", "site.py", "-c", "check.py", "-r"]
main()
""",
    "nipype": """
from nipype.interfaces.utility import Function
from nipype.pipeline.engine import Node, Workflow
def one():
    return 1
flow = Workflow("flow", base_dir=".")
flow.add_nodes([Node(Function(function=one, output_names=["out"]), "node")])
from nipype.pipeline.plugins import SLURMPlugin
import os, threading
threading.Timer(50, os._exit, [0]).start()  # after an error it waits for ever
print("RESULT", flow.run("SLURM", plugin_args={"sbatch_args": "--project-code=X1"}))
""",
    "snakemake-executor-plugin-slurm": """
import os, pathlib, sys
pathlib.Path("Snakefile").write_text("rule all:\\n    output: 'done'\\n    shell: 'touch done'\\n")
account = f"slurm_account={os.environ['SBATCH_ACCOUNT']}"
sys.argv = ["snakemake", "--executor=slurm", "--jobs=1", "--slurm-status-command=squeue", "--default-resources",
    "runtime=1", account, "slurm_partition=debug", "slurm_extra='--project-code=X1'"]
from snakemake.cli import main
main()
""",
    "toil": """
import os, pathlib
pathlib.Path("flow.py").write_text('''
from toil.common import Toil
from toil.job import Job
options = Job.Runner.getDefaultArgumentParser().parse_args()
with Toil(options) as toil:
    toil.start(Job(memory="50M", cores=1, disk="50M"))
''')
line = "flow.py ./store --batchSystem=slurm --retryCount=0 --statePollingTimeout=1 --slurmArgs=--project-code=X1"
os.execvp("python3", ["python3", *line.split()])
""",
    "aiida-core": """
import os
from aiida.common.datastructures import CodeRunMode
from aiida.schedulers.datastructures import JobTemplate
from aiida.schedulers.plugins.slurm import SlurmScheduler
from aiida.transports.plugins.local import LocalTransport
scheduler = SlurmScheduler()
resource = scheduler.create_job_resource(num_machines=1, num_mpiprocs_per_machine=1)
template = JobTemplate({"shebang": "#!/bin/sh", "job_resource": resource, "codes_info": [],
    "codes_run_mode": CodeRunMode.SERIAL, "custom_scheduler_commands": "#SBATCH --project-code=X1"})
open("job.sh", "w").write(scheduler.get_submit_script(template))
with LocalTransport() as transport:
    scheduler.set_transport(transport)
    print("RESULT", scheduler.submit_job(os.getcwd(), "job.sh"))
""",
    "ipyparallel": """
import ipyparallel
cluster = ipyparallel.Cluster(n=1, engine_launcher_class="slurm")
cluster.config.SlurmEngineSetLauncher.batch_template = "#!/bin/sh\\n#SBATCH --project-code=X1\\n{program_and_args}"
cluster.start_cluster_sync()
print("RESULT", list(cluster.engines))
cluster.stop_cluster_sync()
""",
    "batchspawner": """
import asyncio, os
from types import SimpleNamespace
from batchspawner import SlurmSpawner
class Spawner(SlurmSpawner):
    def get_env(self):
        return dict(os.environ)
    def cmd_formatted_for_batch(self):
        return "true"
spawner = Spawner(user=SimpleNamespace(name="alice"), exec_prefix="", req_options="--project-code=X1")
print("RESULT", asyncio.run(spawner.submit_batch_script()))
""",
}
"""How a user submits a job with each, and the site's option; SBATCH_ACCOUNT says what the hook does with it."""
DEBIAN = {
    "slurm-wlm-torque": """
printf '#!/bin/sh\\n#SBATCH --project-code=X1\\n' > job.sh
qsub job.sh
""",
    "r-cran-rslurm": """
echo 'library(rslurm); slurm_apply(identity, data.frame(x = 1), nodes = 1, cpus_per_node = 1,
    slurm_options = list("project-code" = "X1"))' > submit.R
Rscript submit.R
""",
    "libslurm-perl": """
perl -e 'use Slurm; my $slurm = Slurm::new();
    my $job = { account => $ENV{SBATCH_ACCOUNT}, script => "#!/bin/sh\\n", user_id => $<, group_id => $( + 0,
        work_dir => "/tmp", min_nodes => 1, environment => { PATH => "/bin" } };
    my $answer = $slurm->submit_batch_job($job);
    print "RESULT ", $answer ? join(" ", %$answer) : $slurm->strerror(), "\\n";'
""",
    "slurmrestd": """
job='"current_working_directory": "/tmp", "environment": ["PATH=/bin"], "script": "#!/bin/sh"'
body="{\\"job\\": {\\"account\\": \\"$SBATCH_ACCOUNT\\", $job}}"
head='POST /slurm/v0.0.42/job/submit HTTP/1.1\\r\\nHost: ctl\\r\\nAccept: application/json\\r\\nConnection: close'
printf "$head\\r\\nContent-Type: application/json\\r\\nContent-Length: ${#body}\\r\\n\\r\\n%s" "$body" |
    timeout 20 slurmrestd -a rest_auth/local -s openapi/slurmctld | cat | tr '\\r\\n' '  ' | sed 's/^/RESULT /'
""",
}
"""The same for packages of Debian."""
WITHOUT_OPTIONS = {"libslurm-perl", "slurmrestd"}
"""They have no options of plugins."""
WITH = {
    "dask-jobqueue": ["distributed==2026.8.0"],
    "snakemake-executor-plugin-slurm": ["snakemake==9.27.1"],
    "batchspawner": ["jupyterhub==6.1.1"],
}
"""Other packages that are installed with one."""
SOURCES = {"snakemake-executor-plugin-slurm": "connection_pool==0.0.3"}
"""A package without a wheel that one needs."""


class Row(NamedTuple):
    """A row of the table: where the user sees a notice, and the text of a refusal."""

    version: str
    notice: str
    refusal: str


def rows() -> dict[str, Row]:
    """Return the rows of the page's table, by the name of the package."""
    lines = re.findall(r"^\| `(\S+)` \| (\d\S+) \| (.*?) \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
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
        "log": output.stdout + terminal + ("" if output.returncode else trace),
    }
    seen = [name for name, said in places.items() if all(text in said for text in texts)]
    return " and ".join(name for name in seen if name != "log" or "terminal" not in seen) or "nowhere"


def installed(name: str, version: str, python: str, folder: Path) -> Path:
    """Install a package for the cluster's Python; return an archive of it."""
    newest = os.environ.get("SLURMHOOKS_TEST_NEWEST")
    needed = name if newest else f"{name}=={version}"
    others = [word.partition("==")[0] if newest else word for word in WITH.get(name, [])]
    target = folder / name
    if name in SOURCES:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--use-pep517", "-w", str(folder)]
        subprocess.run([*build, SOURCES[name]], check=True)
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(target), "--python-version", python]
    command += ["--find-links", str(folder)]
    done = subprocess.run(
        [*command, *platforms, "--only-binary=:all:", "--ignore-requires-python", needed, *others],
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


def play(site: "Cluster", name: str, program: str) -> tuple[str, str]:
    """Submit a job that gets a notice, and one that is refused; return where the user sees the texts."""
    site.put(program, "/opt/submit")
    seen = []
    for case, texts in TEXTS.items():
        account = "plain" if case == "notice" and name in WITHOUT_OPTIONS else case
        work = f"cd $(mktemp -d) && SBATCH_ACCOUNT={account} PYTHONPATH=/opt/clients/{name}"
        done = site.user("alice", "sh", "-c", f"{work} timeout 60 {'sh' if name in DEBIAN else 'python3'} /opt/submit")
        print(case, done.returncode, done.stdout, done.stderr, sep="\n")  # noqa: T201
        assert "the option is missing" not in done.stdout + done.stderr
        assert site.root("sh", "-c", "cat /var/log/slurm/asked; rm /var/log/slurm/asked").stdout == account
        seen.append(where(done, texts))
    return seen[0], seen[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_users_see(site: "Cluster", tmp_path: Path, name: str) -> None:
    """Each program shows notices and refusals where the table says, and passes the site's option."""
    row = rows()[name]
    python = site.root("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])", check=True).stdout.strip()
    site.put(installed(name, row.version, python, tmp_path), "/opt/package.tar")
    site.root("sh", "-ec", "mkdir -p /opt/clients && tar xf /opt/package.tar -C /opt/clients", check=True)
    assert play(site, name, PROGRAMS[name]) == (row.notice, row.refusal)


@pytest.mark.parametrize("name", DEBIAN)
def test_what_users_of_debian_see(site: "Cluster", name: str) -> None:
    """The same for packages of Debian."""
    row = rows()[name]
    site.tool("add", name, timeout=MAKE_SECONDS)
    assert play(site, name, DEBIAN[name]) == (row.notice, row.refusal)


def test_every_program_has_a_row() -> None:
    """The table and the programs above are the same."""
    assert set(rows()) == {*PROGRAMS, *DEBIAN}
