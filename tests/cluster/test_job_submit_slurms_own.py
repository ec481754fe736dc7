# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of Slurm's testsuite for job_submit/lua (test7.20, test7.23, test_157_1, test_157_2), for Python handlers.

The expectations are those of Slurm's tests; handlers and tests are written here.
"""

import re

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site

pytestmark = [pytest.mark.moved, pytest.mark.stopped]

ACCOUNTS = (
    # test7.20: alice may use 1 CPU with the first, and any number with the second.
    "add qos tight Flags=DenyOnLimit MaxTRESPerUser=cpu=1",
    "add qos wide",
    "add account chem QosLevel=tight,wide",
    "add user alice Account=chem QosLevel=tight,wide DefaultQOS=wide",
    # test_157_1: bob's associations
    "add qos qos1 Priority=1",
    "add qos qos2 Priority=2",
    "add qos qos3 Priority=3",
    "add account acct",
    "add user bob Account=acct QosLevel=qos1,qos3 DefaultQOS=qos1 {}",
    "add user bob Account=acct Partition=pa QosLevel=qos1,qos3 DefaultQOS=qos1 {}",
    "add user bob Account=acct Partition=pb QosLevel=qos1,qos3 DefaultQOS=qos1 {}",
)
COMMENTS = ("no partition", "comment of pa", "comment of pb")
LINES = """\
AllowSpecResourcesUsage=YES
SchedulerParameters=bf_interval=1
PartitionName=pa Nodes=ALL State=UP OverSubscribe=FORCE:4
PartitionName=pb Nodes=ALL State=UP OverSubscribe=FORCE:4
"""

PASS = """
log.user("initialized")

@hook.job_submit
def submit(job):
    if job.name == "test7.20":
        log.user("submit1")
        log.user("submit2")
        log.user("submit3")
"""
REJECT = (
    PASS
    + """\
        if job.comment != "PASS":
            raise Reject("rejected")
"""
)
MIN_MEM = """
@hook.job_submit
def submit(job):
    log.user("min_mem_per_cpu is %s", job.min_mem_per_cpu)
    log.user("min_mem_per_node is %s", job.min_mem_per_node)
"""
SPEC = """
@hook.job_submit
def submit(job):
    log.user("core_spec is %s", job.core_spec)
    log.user("thread_spec is %s", job.thread_spec)
"""
ASSOC = """
from slurmhooks.job_submit import slurmctld

@hook.job_submit
def submit(job):
    if job.assoc_qos is None:
        log.user("No assoc_qos")
    else:
        log.user("assoc_qos: %s", job.assoc_qos)
        for name in job.assoc_qos.split(","):
            log.user("%s priority is %d", name, slurmctld.qos_priority(name))
    log.user("assoc_comment: %s", job.assoc_comment)
"""


@pytest.fixture(scope="module")
def module_site(large_cluster: Cluster) -> Site:
    """Three nodes, with accounting and limits."""
    site = Site(large_cluster)
    # Associations have comments since 23.02.
    has_comments = large_cluster.version >= (23, 2)
    comments = iter(f"Comment='{text}'" if has_comments else "" for text in COMMENTS)
    commands = [text.format(next(comments)) if "{}" in text else text for text in ACCOUNTS]
    accounting.start(large_cluster, *commands, more=LINES)
    return site


@pytest.fixture
def site(module_site: Site) -> Site:
    """Start each test without hooks and jobs."""
    module_site.reset()
    return module_site


ONE = ["-n5"]
THREE = ["-n5", ":", "-n3", ":", "-n1"]
MIXED = ["--comment=PASS", "-n1", ":", "--comment=ERROR", "-n3", ":", "--comment=ERROR", "-n5"]
ARRAY = ["-n5", "--array=10"]


def _command(name: str, request: list[str], *limit: str) -> list[str]:
    first = [name, "-t1", "--job-name=test7.20", "--account=chem", *limit]
    # In a heterogeneous job each component has its own options, except those that sbatch passes on.
    tail = {"salloc": ["true"], "srun": ["true"], "sbatch": ["--output=/dev/null", "--wrap=true"]}[name]
    return [*first, *request, *tail]


def _lines(said: str, name: str, *, error: bool) -> list[str]:
    """Return the messages of handlers, which clients prefix with their name and the component's number."""
    prefix = f"{name}: error: " if error else f"{name}: "
    return re.findall(rf"^{prefix}(?:\d+: )?(submit\d|initialized)$", said, re.MULTILINE)


ONCE = ["submit1", "submit2", "submit3"]


@pytest.mark.parametrize(
    ("name", "request_", "times"),
    [
        pytest.param("salloc", ONE, 1, id="R1"),
        pytest.param("salloc", THREE, 1, id="R2"),
        pytest.param("srun", ONE, 1, id="R3"),
        pytest.param("srun", THREE, 1, id="R4"),
        pytest.param("sbatch", ONE, 1, id="R5"),
        pytest.param("sbatch", ARRAY, 1, id="R6"),
        pytest.param("sbatch", THREE, 1, id="R7"),
        pytest.param("sbatch", MIXED, 2, id="R8"),
    ],
)
def test_7_20_reject(site: Site, name: str, request_: list[str], times: int) -> None:
    """Every kind of job is refused; the client gets the messages of each called component as errors.

    It does not get texts of a file that is being loaded, because no user waits then; Lua scripts differ in this.
    """
    site.hooks(REJECT)
    done = site.run(*_command(name, request_, "--qos=wide"))
    assert done.returncode != 0
    assert _lines(done.stderr, name, error=True) == ONCE * times
    assert "rejected" in done.stderr
    assert site.said("squeue", "-h") == ""


@pytest.mark.parametrize(
    ("name", "request_", "times"),
    [
        pytest.param("salloc", ONE, 1, id="P1"),
        pytest.param("salloc", THREE, 3, id="P2"),
        pytest.param("srun", ONE, 1, id="P3"),
        pytest.param("srun", THREE, 3, id="P4"),
        pytest.param("sbatch", ONE, 1, id="P5"),
        pytest.param("sbatch", ARRAY, 1, id="P6"),
        pytest.param("sbatch", THREE, 3, id="P7"),
    ],
)
def test_7_20_pass(site: Site, name: str, request_: list[str], times: int) -> None:
    """Every kind of job is accepted, and the messages of all components reach the client."""
    site.hooks(PASS)
    done = site.run(*_command(name, request_, "--qos=wide"))
    assert done.returncode == 0, done.stderr
    assert _lines(done.stderr, name, error=False) == ONCE * times


@pytest.mark.parametrize(
    ("name", "request_", "times"),
    [
        pytest.param("salloc", ONE, 1, id="F1"),
        pytest.param("salloc", THREE, 1, id="F2"),
        pytest.param("srun", ONE, 1, id="F3"),
        pytest.param("srun", THREE, 1, id="F4"),
        pytest.param("sbatch", ONE, 1, id="F5"),
        pytest.param("sbatch", ARRAY, 1, id="F6"),
        pytest.param("sbatch", THREE, 3, id="F7"),
    ],
)
def test_7_20_refused_by_slurm(site: Site, name: str, request_: list[str], times: int) -> None:
    """If a QOS refuses a job that handlers accept, users read their messages."""
    site.hooks(PASS)
    done = site.run(*_command(name, request_, "--qos=tight"))
    assert done.returncode != 0
    assert _lines(done.stderr, name, error=True) == ONCE * times


@pytest.mark.parametrize("name", ["salloc", "srun", "sbatch"])
@pytest.mark.parametrize(
    ("options", "per_cpu", "per_node"),
    [([], "None", "None"), (["--mem-per-cpu=1024"], "1024", "None"), (["--mem=2048"], "None", "2048")],
    ids=["neither", "cpu", "node"],
)
def test_7_23(site: Site, name: str, options: list[str], per_cpu: str, per_node: str) -> None:
    """Memory is per CPU, per node or unset; the other field is None."""
    site.hooks(MIN_MEM)
    tail = ["--output=/dev/null", "--wrap=true"] if name == "sbatch" else ["true"]
    said = site.run(name, *options, *tail).stderr
    assert f"{name}: min_mem_per_cpu is {per_cpu}\n" in said
    assert f"{name}: min_mem_per_node is {per_node}\n" in said


def test_157_1(site: Site) -> None:
    """The QOS of bob's association with their priorities, and the comment of the association of the partition."""
    accounting.need_sources(site.cluster)
    site.hooks(ASSOC)
    for options, comment in zip(([], ["--partition=pa"], ["--partition=pb"]), COMMENTS, strict=True):
        said = site.run("srun", *options, "true", user="bob").stderr
        assert "assoc_qos: qos1,qos3\n" in said
        assert "qos1 priority is 1\n" in said
        assert "qos3 priority is 3\n" in said
        assert f"assoc_comment: {None if site.release < (23, 2) else comment}\n" in said
    said = site.run("srun", "--account=__not_an_acct", "true", user="bob").stderr
    assert "No assoc_qos" in said


@pytest.mark.parametrize(
    ("options", "cores", "threads"),
    [([], "None", "None"), (["--core-spec=2"], "2", "None"), (["--thread-spec=2"], "None", "2")],
    ids=["neither", "cores", "threads"],
)
def test_157_2(site: Site, options: list[str], cores: str, threads: str) -> None:
    """A job has specialized cores, specialized threads or neither; the other field is None, on every release."""
    site.hooks(SPEC)
    done = site.run("srun", *options, "true")
    assert done.returncode == 0, done.stderr
    assert f"core_spec is {cores}\n" in done.stderr
    assert f"thread_spec is {threads}\n" in done.stderr
