# SPDX-License-Identifier: GPL-2.0-or-later
"""No job gets past a rule on a detour, on real slurmctlds: features, whole cores, partitions of reservations."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pytest

from tests.cluster import allocations, drawn_jobs
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, TOML, Site
from tests.cluster.own_readers import build

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped, pytest.mark.moved]

NODES, TASKS, CPUS = (f'rule = "{what}_count"\nmost = {most}' for what, most in (("node", 1), ("task", 2), ("cpu", 4)))
PAIR = 'rule = "node_count"\nmost = 2'
GPUS = 'rule = "gpu_ceiling"\nper_job = 2'
MEMORY = 'rule = "memory_ceiling"\nper_node = 200'
CLOSED = 'rule = "forbid"\npartitions = ["gpu"]'
KIND = 'rule = "require_features"\none_of = ["a"]'
SHORT = 'rule = "time_ceiling"\nlimit = 10\npartitions = ["gpu"]'
DEBUG = 'rule = "task_count"\nmost = 1\npartitions = ["debug"]'
LICENSES = 'rule = "licenses"\nmost = { ansys = 2 }'
WITHOUT_SOURCES = '[rules.defaults]\nupdates = "refuse"\ndefault_partition = "debug"\n'
"""What rules cannot ask slurmctld in such a build."""
ARRAY = 'rule = "array_size"\nmost = 3'
LARGE = 'rule = "memory_ceiling"\nper_node = 100000'
OF_CPU = 'rule = "memory_ceiling"\nper_cpu = 100'
INTERACTIVE = 'rule = "interactive_limit"\nnodes = 1'


class Try(NamedTuple):
    """A job of a user, and what a rule must not let Slurm do.

    Attributes:
        rule: its keys.
        options: of sbatch.
        update: changes by scontrol before the job starts.
        environment: variables of sbatch.
        plain: the job must be accepted without a word, because nothing in it can exceed the limit.
        target: what the update changes: a task ("_1"), the second component ("c") or all components ("w") of the job;
            "": the job.
    """

    rule: str
    options: str
    update: str = ""
    environment: str = ""
    plain: bool = False
    target: str = ""


TRIES = [
    # A number of nodes with a feature.
    Try(NODES, "-C 'a*2'"),
    Try(NODES, "-C '[a*2&c*1]'"),
    Try(NODES, "-n1 -C 'a*2'"),
    Try(NODES, "-C 'a*1' -w n3"),  # which lacks the feature, so that both count
    Try(PAIR, "-n1 -C 'a*2' -w n3"),
    Try(NODES, "-N1 -C 'a*1' -w n1", plain=True),
    Try(NODES, "", environment="SBATCH_CONSTRAINT='a*2'"),
    Try(NODES, "-N1", update="Features=a*2"),
    Try(NODES, "-N1", update="NumNodes=1-2 Features=a*2"),
    Try(TASKS, "-C '[a*2&c*1]'"),
    # Each CPU of a job without a number of tasks is a task.
    Try(GPUS, "-N1 --mincpus=3", update="TresPerTask=gres/gpu:1"),
    Try(GPUS, "-N1", update="NumCPUs=4 TresPerTask=gres/gpu:1"),
    Try(GPUS, "-N1", update="TresPerTask=gres/gpu:1", plain=True),
    Try(GPUS, "--gpus-per-node=2 -C 'a*2'"),
    Try(NODES, "-C 'a*+2'"),
    Try(NODES, "-C '[(a&b)*+1&c*+1]'"),
    Try(NODES, "-C 'a*-4294967294'"),
    Try(NODES, "--prefer='a*+2'"),
    Try(NODES, "-n1", update="Features=a*+2"),
    Try(NODES, "-C 'a*+1'", plain=True),
    Try(NODES, "-C 'a*1'", plain=True),
    Try(NODES, "-C 'a&b'", plain=True),
    # Preferred features, which Slurm tries before the others.
    Try(NODES, "--prefer='a*2'"),
    Try(NODES, "-n1 --prefer='[a*1&c*1]'"),
    Try(NODES, "-n1", update="Prefer=a*2"),
    Try(KIND, "-C a --prefer=c"),
    Try(KIND, "-C a", update="Prefer=c"),
    Try(KIND, "-C a --prefer=a", plain=True),
    # Numbers of tasks and CPUs from which Slurm computes that of nodes.
    Try(NODES, "-n1", update="NumTasks=9"),
    Try(NODES, "-n1", update="NumCPUs=16"),
    Try(NODES, "-n4", update="NumTasks=9"),
    Try(NODES, "-w n1 --ntasks-per-node=3 --spread-job"),
    Try(NODES, "-n4 -w n1", update="NumTasks=2", plain=True),
    Try(NODES, "-p wide"),
    # Tasks of arrays, and components.
    Try(NODES, "-n1 -a0-1", update="NumNodes=2", target="_1"),
    Try(CPUS, "-n1 -a0-1", update="NumTasks=5"),
    Try(GPUS, "-n1 -a0-1", update="TresPerNode=gres/gpu:3", target="_1"),
    Try(NODES, "-n1 : -N2"),
    Try(CPUS, "-n1 : -n1", update="NumTasks=5", target="c"),
    Try(MEMORY, "-n1 : -n1 --mem=100", update="MinMemoryNode=300", target="c"),
    Try(CPUS, "-n1 -a0-1", update="NumTasks=4", target="_1", plain=True),
    # What slurmctld computes in an update of all components for one, it may leave for the next.
    Try(DEBUG, "-p gpu -N2 --gpus=4 --ntasks-per-gpu=1 : -p debug -N1", update="TimeLimit=3", target="w"),
    Try(DEBUG, "-p gpu -n3 -N2 --ntasks-per-node=3 : -p debug -N1", update="TimeLimit=3", target="w"),
    # GPUs for the tasks of a job that has no number of tasks.
    Try(CPUS, "-p gpu", update="TresPerTask=gres/gpu:1"),
    Try(GPUS, "-p gpu -N1-2", update="TresPerTask=gres/gpu:1"),
    Try(CPUS, "--gpus=1 --cpus-per-gpu=2", update="TresPerTask=gres/gpu:1"),
    # Whole cores, of which the job uses one thread.
    Try(CPUS, "-p smt -n4 --threads-per-core=1"),
    Try(CPUS, "-p smt -n4 --ntasks-per-core=1"),
    Try(CPUS, "-p smt -n4 --hint=nomultithread"),
    Try(CPUS, "-p smt -n3 --hint=memory_bound"),
    Try(CPUS, "-p smt -n3 --hint=compute_bound"),
    Try(CPUS, "-p smt -n1 -c4 --threads-per-core=1"),
    Try(CPUS, "-p smt -n4", environment="SBATCH_HINT=nomultithread"),
    Try(CPUS, "-p smt -n4", environment="SBATCH_THREADS_PER_CORE=1"),
    Try(CPUS, "-p smt -n4", update="ReqThreads=1"),
    Try(CPUS, "-p smt -n2 --threads-per-core=1", update="NumTasks=4"),
    Try(CPUS, "-p smt -n2 --hint=nomultithread", update="NumTasks=4"),
    Try(CPUS, "-p smt -n2", update="NumTasks=4", plain=True),
    Try(CPUS, "-p smt -n2 --threads-per-core=2", update="NumTasks=4", plain=True),
    Try(MEMORY, "-p smt -n1 --mem-per-cpu=150"),
    Try(MEMORY, "-p smt -n2 --mem-per-cpu=100 --ntasks-per-core=1"),
    Try(MEMORY, "-n1 --mem-per-cpu=150", update="Partition=smt"),
    Try(CPUS, "-p smt -n4", plain=True),
    Try(CPUS, "-p smt -n2 --threads-per-core=1", plain=True),
    Try(CPUS, "-p smt -n4 --threads-per-core=2", plain=True),
    Try(CPUS, "-p gpu -n4 --hint=nomultithread", plain=True),
    Try(MEMORY, "-p smt -n2 --mem-per-cpu=100 --threads-per-core=1", plain=True),
    Try(MEMORY, "-p smt -n2 --mem-per-cpu=100", plain=True),
    # A partition that gives more to the same request.
    Try(GPUS, "--gpus=1 -w n1", update="Partition=whole"),
    Try(CPUS, "-n1", update="Partition=whole"),
    Try(MEMORY, "-n1 --mem-per-cpu=150", update="Partition=whole"),
    Try('rule = "cpus_per_gpu"\nmost = 2', "-n1 --gpus=1 -w n1", update="Partition=whole"),
    Try('rule = "memory_per_gpu"\nmost = 100', "-n1 --gpus=1 -w n1 --mem-per-cpu=90", update="Partition=whole"),
    Try(NODES, "-n2", update="Partition=wide"),
    # Numbers in other notations.
    Try(NODES, "-N 1,2"),
    Try(NODES, "-n2 -m arbitrary -w n1,n2"),
    Try(NODES, "-n1", update="NumNodes=ALL"),
    Try(NODES, "-n1", update="NumNodes=1,2"),
    Try(NODES, "-n2 -a1-2%1 -d singleton", update="NumNodes=2", target="_2"),
    Try(CPUS, "-n1", update="NumCPUs=2-9"),
    Try(CPUS, "-N1 --ntasks-per-node=2", update="TasksPerNode=5"),
    Try(CPUS, "-n1", update="OverSubscribe=EXCLUSIVE"),
    Try(CPUS, "-n1", update="MinCPUsNode=5"),
    Try(CPUS, "-n1 --exclusive=user", plain=True),
    Try(CPUS, "-n1 -s", plain=True),
    Try(GPUS, "--gres=gpu=3"),
    Try(GPUS, "--gres=gres/gpu:3"),
    Try(GPUS, "--gres=gres:gpu:3"),
    Try(GPUS, "--gres=,gpu:tesla:1,,gpu:2,"),
    Try(GPUS, "-n3 --tres-per-task=gres/gpu=1"),
    Try(GPUS, "-n3 -w n1", update="TresPerTask=gres/gpu:1"),
    Try(GPUS, "--gres=gpu:2,gpu:0 -w n1", plain=True),
    Try(MEMORY, "--mem=0"),
    Try(MEMORY, "--mem-per-cpu=0"),
    Try(MEMORY, "--mem=204801k"),
    Try(MEMORY, "-n1 --mem=100", update="MinMemoryNode=0"),
    Try(MEMORY, "-n1 --mem-per-cpu=50 -w n1", update="MinMemoryCPU=0"),
    Try(MEMORY, "--gpus=1 --mem-per-gpu=100 -w n1", update="MemPerTres=gres/gpu:300"),
    Try(MEMORY, "--mem=204800k", plain=True),
    # The memory of a node whose other CPUs are on other nodes.
    Try(OF_CPU, "-N2 -n4 --mem=200"),
    Try(OF_CPU, "-n4 --mem=400 -w n1"),
    Try(OF_CPU, "-n9 --mem=300"),
    Try(OF_CPU, "-N1 -n4 --mem=400", update="NumNodes=2"),
    Try(OF_CPU, "-n4 --mem=400", plain=True),
    Try(OF_CPU, "-N2 --ntasks-per-node=4 --mem=400", plain=True),
    Try(OF_CPU, "-N2 -n4 --ntasks-per-node=2 --mem=200", plain=True),
    Try(OF_CPU, "-N2 -n2 -c4 --mem=400", plain=True),
    # CPUs and memory for each of other GRES, or of GPUs of another type.
    Try(CPUS, "-n1 --gres=gpu:tesla:1", update="CpusPerTres=gres/gpu:kepler:8"),
    Try(CPUS, "-n1 --gres=tape:1", update="CpusPerTres=gres/tape:8"),
    Try(MEMORY, "-n1 --gres=tape:4", update="MemPerTres=gres/tape:100"),
    Try(CPUS, "-n1 --gres=gpu:1,tape:2 --cpus-per-gpu=2", plain=True),
    # Jobs that name no memory where nothing is its default.
    Try(LARGE, "-p bare -n1", update="NumTasks=2 TimeLimit=3", plain=True),
    Try(LARGE, "-p bare -n1 --gpus=1", update="CpusPerTres=gres/gpu:2", plain=True),
    Try(LICENSES, "-L ansys:2,ansys"),
    Try(LICENSES, "-L 'ansys;ansys:2'"),
    Try(LICENSES, "-L 'ansys:3|matlab'"),
    Try(LICENSES, "-L ansys=3"),
    Try(LICENSES, "-L 'ansys: 3'"),
    Try(LICENSES, "-n3 --tres-per-task=license/ansys:1"),
    Try(LICENSES, "-L ansys", update="Licenses=ansys:2,ansys"),
    Try(LICENSES, "-L ansys:2,matlab:3", plain=True),
    Try(ARRAY, "-a1-4"),
    Try(ARRAY, "-a1-10:3%1"),
    Try(ARRAY, "-a '[1-2],5,7'"),
    Try(ARRAY, "-a1-3,", plain=True),
    Try(SHORT, "-t30 --time-min=5 -p gpu"),
    Try(SHORT, "--deadline=now+30minutes -t20 -p debug,gpu"),
    Try(SHORT, "-t5 -p gpu", update="TimeLimit=+30"),
    # Nodes of other weights than those that a job that spreads needs.
    Try(PAIR, "-N2 -n2 --spread-job"),
    Try(PAIR, "-n2 --spread-job"),
    Try(NODES, "-w n1 --spread-job"),
    Try(NODES, "-n1 --spread-job", update="ReqNodeList=n1", plain=True),
    Try(NODES, "-n1 --spread-job -w n1", plain=True),
    Try(NODES, "-N1 -n2 --spread-job", plain=True),
    # A partition that accepts no jobs, and has an alternate.
    Try(CLOSED, "-p old"),
    Try(CLOSED, "-p debug,old"),
    Try(CLOSED, "-n1", update="Partition=older"),
    Try(SHORT, "-t30 -p old"),
    Try(SHORT, "-t30", update="Partition=old"),
    Try(CLOSED, "-p both", plain=True),
    # CPUs next to GPUs.
    Try(CPUS, "--gpus=1 -w n1 --gres-flags=enforce-binding"),
    Try(MEMORY, "--gpus=1 -w n1 --mem-per-cpu=50 --gres-flags=enforce-binding"),
    Try(CPUS, "--gpus=1 -w n1 --gres-flags=disable-binding", plain=True),
    # The partition of one of several reservations.
    Try(CLOSED, "--reservation=course,"),
    Try(CLOSED, "--reservation=,course"),
    Try(CLOSED, "--reservation=anywhere,course"),
    Try(CLOSED, "--reservation=course,anywhere"),
    Try(CLOSED, "-n1", update="ReservationName=course,"),
    Try(SHORT, "-t30 --reservation=course,anywhere"),
    Try(SHORT, "-t30", update="ReservationName=anywhere,course"),
    Try(CLOSED, "-p debug --reservation=anywhere", plain=True),
    Try(CLOSED, "--reservation=anywhere,", plain=True),
]


CLIENTS = [
    (NODES, "num_tasks=1 min_cpus=9"),
    (NODES, "max_nodes=0xffffffff"),
    (NODES, "req_nodes=n1,n2"),
    (NODES, "features=a prefer=a*2"),
    (TASKS, "tres_per_job=gres/gpu:1 ntasks_per_tres=8"),
    (CPUS, "cpus_per_task=5"),
    (CPUS, "pn_min_cpus=5"),
    (CPUS, "tres_per_node=gres/tape:2 cpus_per_tres=gres/tape:4"),
    (CPUS, "tres_per_node=gres/gpu:1 cpus_per_tres=gres/tape:2"),
    (MEMORY, "tres_per_node=gres/tape:2 mem_per_tres=gres/tape:150"),
    (GPUS, "tres_per_node=gres/gpu:1,gres/gpu:3"),
    (MEMORY, "pn_min_memory=300"),
    (MEMORY, "pn_min_memory=0x800000000000012c"),
    ('rule = "time_ceiling"\nlimit = 10', "time_limit=0xffffffff"),
    ('rule = "require_time"', "time_limit=0"),
    ('rule = "script_content"\nforbidden = ["exit"]', "alloc_resp_port=60000"),
    ('rule = "forbid"\npartitions = ["*"]\ninteractive = false', "alloc_resp_port=60000"),
]
"""Rules, and members of a job description that a program sends by libslurm, and that break them."""


class Given:
    """What slurmctld gave to a job."""

    def __init__(self, job: dict[str, str]) -> None:
        amounts = allocations.amounts(job)
        self.nodes, self.tasks, self.cpus, self.gpus, self.memory = (
            max(amounts.get(name, [0])) for name in ("nodes", "tasks", "cpus", "gpus", "memory_per_node")
        )
        pairs = zip(amounts["memory_per_node"], amounts["cpus_per_node"], strict=True)
        self.memory_of_cpu = max((memory / max(cpus, 1) for memory, cpus in pairs), default=0)
        self.minutes = allocations.minutes(job) or 0
        self.licenses = sum(int(count or 1) for count in re.findall(r"ansys(?:[:=](\d+))?", job["Licenses"]))
        self.task = int(job.get("ArrayTaskId", 0))
        self.partition = job["Partition"]
        self.node, self.named, self.folder = job["NodeList"], job["ReqNodeList"] != "(null)", job["WorkDir"]


BROKEN: dict[str, Callable[[Given], bool]] = {
    NODES: lambda given: given.nodes > 1,
    PAIR: lambda given: given.nodes > 2,
    TASKS: lambda given: given.tasks > 2,
    DEBUG: lambda given: given.partition == "debug" and given.tasks > 1,
    CPUS: lambda given: given.cpus > 4,
    GPUS: lambda given: given.gpus > 2,
    MEMORY: lambda given: given.memory > 200,
    LARGE: lambda given: given.memory > 100000,
    KIND: lambda given: given.node == "n3",
    CLOSED: lambda given: given.partition == "gpu",
    SHORT: lambda given: given.partition == "gpu" and given.minutes > 10,
    LICENSES: lambda given: given.licenses > 2,
    ARRAY: lambda given: given.task > 3,
    OF_CPU: lambda given: given.memory_of_cpu > 100,
    'rule = "cpus_per_gpu"\nmost = 2': lambda given: given.cpus > 2 * given.gpus,
    'rule = "memory_per_gpu"\nmost = 100': lambda given: given.memory > 100 * given.gpus,
}
"""Whether a rule was broken, by its keys."""


def tries(site: Site, some: Sequence[Try] = TRIES) -> dict[str, Try]:
    """Return jobs by name; without Slurm's sources rules know neither jobs, nodes nor reservations."""
    known = site.cluster.has_sources
    return {
        f"t{number}": each
        for number, each in enumerate(some)
        if (known or not (each.update or each.plain or "--reservation" in each.options))
        and not drawn_jobs.left_out(site.release, each.options)
    }


def under(site: Site, rules: dict[str, str]) -> None:
    """Put rules in force, each for the account that has its name."""
    tables = [f'[[rule]]\nname = "{name}"\naccounts = ["{name}"]\n{rule}\n' for name, rule in rules.items()]
    defaults = "" if site.cluster.has_sources else WITHOUT_SOURCES
    site.cluster.put("\n".join([DEFAULT_TOML, defaults, *tables]), TOML)


def evading(cluster: Cluster) -> Site:
    """Return a cluster with features, a node whose CPUs are threads, and two reservations."""
    site = drawn_jobs.prepared(cluster)
    create = "scontrol create reservation=anywhere licenses=ansys:1 flags=any_nodes users=alice starttime=now"
    cluster.root("sh", "-ec", f"{create} duration=1-0", check=True)
    return site


@pytest.fixture(scope="module")
def site(large_cluster: Cluster) -> Site:
    """A cluster with features, a node whose CPUs are threads, and two reservations."""
    site = evading(large_cluster)
    under(site, {name: each.rule for name, each in tries(site).items()})
    return site


def show(site: Site, tried: dict[str, Try], broken: Mapping[str, Callable[[Given], bool]]) -> dict[str, str]:
    """Run jobs, show that none has broken its rule, and return what their users have read."""
    jobs = {name: " : ".join(f"-A {name} {part}" for part in each.options.split(" : ")) for name, each in tried.items()}
    updates = {f"{name}{each.target}": each.update for name, each in tried.items() if each.update}
    if site.release < (23, 11):
        jobs = {name: options for name, options in jobs.items() if "tres-per-task" not in options}
        updates = {name: update.replace("gres/", "gres:") for name, update in updates.items()}
    variables = {name: each.environment for name, each in tried.items() if each.environment}
    said = drawn_jobs.run(site, jobs, updates, variables=variables)
    wrong = [f"{tried[name]}: {text}" for name, text in said.items() if tried[name].plain and text]
    for name, job in drawn_jobs.given(site).items():
        each = tried[drawn_jobs.job_of(name)]
        if broken[each.rule](Given(job)):
            wrong.append(f"{each}: {job['line']}")
    assert not wrong, "\n".join(wrong)
    return said


def test_nothing_gets_past(site: Site) -> None:
    """No detour reaches more than the rule allows; plain requests within the limit are accepted."""
    said = show(site, tries(site), BROKEN)
    refused = [name for name, text in said.items() if re.search(r"at most|may not use", text)]
    assert len(refused) > len(said) / 3, said  # users of 22.05 read no text about updates


def test_clients(site: Site) -> None:
    """A program that fills in the members of a job description itself gets no further than sbatch."""
    program = build(site.cluster, "describe")
    under(site, {f"c{number}": rule for number, (rule, _) in enumerate(CLIENTS)})
    lines = [f"{program} account=c{number} {members} || echo refused" for number, (_, members) in enumerate(CLIENTS)]
    if site.release < (23, 11):
        lines = [line.replace("gres/", "gres:") for line in lines]
    done = site.run("sh", "-c", "\n".join([*lines, f"{program} account=c0 num_tasks=1 || echo refused"]))
    *refused, plain = done.stdout.split()
    assert refused == ["refused"] * len(CLIENTS), done.stdout + done.stderr
    assert plain.isdecimal(), done.stderr
    site.run("scancel", "--user=alice")


def test_components(site: Site) -> None:
    """A component of an interactive job is one, although the client sends an environment, as with batch jobs."""
    program = build(site.cluster, "components")
    under(site, {"i0": INTERACTIVE})
    script = "#!/bin/sh\n#SBATCH --hold -A i0 -o /dev/null\n#SBATCH hetjob\n#SBATCH -N2 -A i0\ntrue\n"
    site.cluster.put(script, "/tmp/components.sh", 0o755)
    assert "Submitted batch job" in site.said("sbatch", "/tmp/components.sh")
    for nodes in ("1 2", "1 1 2"):
        said = site.said("sh", "-c", f"{program} i0 {nodes}")
        assert "interactive jobs" in said or "Access/permission denied" in said, said
        assert "allocated" not in said
    site.run("scancel", "--user=alice")


def test_released_components(site: Site) -> None:
    """No component of a job gets by an update of all what only slurmctld has computed for another one.

    So users can release a job whose sizes only administrators may change.
    """
    if not site.cluster.has_sources:
        pytest.skip("slurmctld sends no jobs")
    under(site, {"u0": 'rule = "task_count"\nmost = 99\nupdates = "refuse"'})
    submit = "sbatch --parsable --begin=now+1day -N2 -n3 --ntasks-per-node=2 : -n1 : -n2"
    job = site.shell(f"{submit} {drawn_jobs.SCRIPT}").strip()

    def tasks() -> list[str]:
        return re.findall(r"NumTasks=(\d+)", site.said("scontrol", "-o", "show", "job", job))

    before = tasks()
    assert before[1:] == ["1", "2"]
    for command in ("hold", "release", "update Nice=3 JobId=", "update JobName=x JobId="):
        assert site.said("sh", "-c", f"scontrol {command}{'' if '=' in command else ' '}{job}") == "", command
        assert tasks()[1:] == before[1:], command
    refused = site.said("scontrol", "update", "NumTasks=5", f"JobId={job}")
    assert "only administrators may change NumTasks" in refused or "ccess/permission denied" in refused, refused
    assert "5" not in tasks()
    site.run("scancel", "--user=alice")
