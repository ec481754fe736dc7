# SPDX-License-Identifier: GPL-2.0-or-later
"""What is new in recent releases: asynchronous steps, expedited requeues, prologs in the job or waited for, metrics."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families as metrics

from tests.cluster.spank.site import RECORDS, RECORDS_D, SLURM_CONF, Site, settle, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.one_release("26.05"), pytest.mark.stopped]
STAY = {"test_an_asynchronous_step", "test_an_expedited_requeue", "test_an_external_job_is_not_interactive"}

NOTE = f"""
import json, os, time
from slurmhooks import hook
from slurmhooks.job_submit.constants import JobFlag

def note(**what):
    file = os.open("{RECORDS}", os.O_WRONLY | os.O_APPEND)
    os.write(file, (json.dumps(what) + "\\n").encode())
    os.close(file)
"""
STEP = (
    NOTE
    + """
def note_call(spank):
    if spank.context == "local" or spank.job_stepid < 1 << 31:
        note(place=f"{spank.context} {spank.callback}")

for name in ("init", "init_post_opt", "local_user_init", "user_init", "task_init", "task_exit", "exit"):
    exec(f"def at_{name}(spank): note_call(spank)")
    mark = getattr(hook.spank, name)
    mark = mark(contexts=["local", "remote"]) if name in ("init", "init_post_opt", "exit") else mark
    mark(globals()[f"at_{name}"])

@hook.cli_filter.pre_submit(contexts="srun")
def pre_submit(options):
    note(place="pre_submit")

@hook.cli_filter.post_submit(contexts="srun")
def post_submit(step_id):
    note(place=f"post_submit {step_id}")
"""
)
REQUEST = (
    NOTE
    + """
@hook.job_submit
def submitted(job):
    note(expedited=bool(job.bitflags & JobFlag.EXPEDITED_REQUEUE), requeue=job.requeue)
"""
)
NO_SHELLS = """
from slurmhooks import Reject, hook

@hook.job_submit
def no_shells(job):
    if job.interactive:
        raise Reject("use sbatch")
"""
EPILOG = (
    NOTE
    + """
from slurmhooks import Reject

@hook.job_submit
def submitted():
    note(place="job_submit")

@hook.spank.task_init
def task(spank):
    note(place="task_init")

@hook.spank.job_epilog
def epilog(spank):
    note(place="job_epilog")
    if not os.path.exists("/opt/spank/refused"):
        open("/opt/spank/refused", "w").close()
        raise Reject("the GPU is gone")
"""
)
PROLOG = (
    NOTE
    + """
@hook.spank.job_prolog
def prolog(spank):
    if os.environ.get("SLURMD_NODENAME") == "n2":
        time.sleep(1)
    note(place="prolog")
"""
)


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A cluster with hooks for commands, steps and submissions, and with what is new."""
    recent = {"SlurmctldParameters": "enable_stepmgr,enable_expedited_requeue", "MetricsType": "metrics/openmetrics"}
    recent = recent if cluster.version >= (25, 11) else {}
    plugins = {"CliFilterPlugins": "cli_filter/python", "JobSubmitPlugins": "python"}
    prepared = site(cluster, PrologFlags="Contain,DeferBatch", **plugins, **recent)
    prepared.plugstack("required spank_python.so")
    return prepared


@pytest.fixture(autouse=True)
def _settled(lent: Site) -> None:
    settle(lent)
    lent.forget_records()


def use(lent: Site, source: str) -> None:
    """Put a hook file in force."""
    lent.hooks(recent=source)
    lent.forget_records()


def test_an_asynchronous_step(lent: Site) -> None:
    """With --async, srun calls neither local_user_init nor exit; slurmstepd calls the same as for any step."""
    if lent.since < (26, 5):
        pytest.skip("this release has no --async")
    use(lent, STEP)
    step = f"srun --async -n1 true; until grep -q 'remote exit' {RECORDS}; do sleep 0.1; done"
    said = lent.shell(f'sbatch --wait -n1 -o /dev/null --wrap "{step}"')
    assert said.returncode == 0, said.stdout
    places = [row["place"] for row in lent.records()]
    ours = [place for place in places if not place.startswith("remote")]
    assert ours == ["local init", "pre_submit", "local init_post_opt", "post_submit 0"]
    remote = [place.removeprefix("remote ") for place in places if place.startswith("remote")]
    assert remote == ["init", "init_post_opt", "user_init", "task_init", "task_exit", "exit"]


def test_an_expedited_requeue(lent: Site) -> None:
    """Handlers of job_submit see what --requeue=expedite asks for."""
    if lent.since < (25, 11):
        pytest.skip("this release has no --requeue=expedite")
    use(lent, REQUEST)
    for option in ("--requeue=expedite", "--requeue", "--no-requeue"):
        assert lent.shell(f"sbatch -n1 -o /dev/null {option} --wrap true").returncode == 0
    seen = [(row["expedited"], row["requeue"]) for row in lent.wait_for_records(3)]
    assert seen == [(True, True), (False, True), (False, False)]


def test_an_external_job_is_not_interactive(lent: Site) -> None:
    """Nothing of Slurm runs in it, so neither its component of a batch job nor its submission is a shell of a user."""
    if lent.since < (26, 5):
        pytest.skip("this release has no --external")
    use(lent, NO_SHELLS)
    said = lent.shell("sbatch -H --external -t 5")
    assert said.returncode == 0, said.stdout
    script = "#!/bin/sh\n#SBATCH -H -n1\n#SBATCH hetjob\n#SBATCH --external -n1\ntrue\n"
    said = lent.shell(f"printf '{script}' | sbatch -o /dev/null")
    assert said.returncode == 0, said.stdout
    said = lent.shell("salloc -n1 true 2>&1")
    assert "use sbatch" in said.stdout
    lent.root("scancel --state=PENDING")


def test_a_refused_epilog_of_an_expedited_requeue(lent: Site) -> None:
    """If the script of such a job fails and job_epilog refuses, Slurm starts it again on another node, unasked."""
    if lent.since < (25, 11):
        pytest.skip("this release has no --requeue=expedite")
    use(lent, EPILOG)
    fails_once = """--wrap 'test "${SLURM_RESTART_COUNT:-0}" -gt 0'"""  # 26.11 sets it to 0
    said = lent.shell(f"sbatch --requeue=expedite -N1 -o /dev/null {fails_once}")
    assert said.returncode == 0, said.stdout
    rows = lent.wait_for_records(2, place="job_epilog") and lent.records()
    once = ["task_init", "job_epilog"]
    assert [row["place"] for row in rows] == ["job_submit", *once, *once]
    (node,) = set(lent.drained())
    assert "the GPU is gone" in lent.root(f"scontrol show node {node}")


def test_a_batch_step_waits_for_all_prologs(lent: Site) -> None:
    """With PrologFlags=DeferBatch, the script starts after the prologs of SPANK on all nodes of the job."""
    use(lent, PROLOG)
    script = f'echo \'{{\\"place\\": \\"script\\"}}\' >> {RECORDS}'
    said = lent.shell(f'sbatch --wait -N2 -o /dev/null --wrap "{script}"')
    assert said.returncode == 0, said.stdout
    assert [row["place"] for row in lent.records()] == ["prolog", "prolog", "script"]


NAMESPACES = (
    NOTE
    + """
with open("/opt/spank/node") as file:
    NODE = file.read().strip()

def note_call(spank):
    place = spank.step_name if spank.context == "remote" else "node"
    note(place=f"{place} {spank.callback}", inside=os.readlink("/proc/self/ns/mnt") != NODE)

for name in ("job_prolog", "init_post_opt", "task_init", "exit", "job_epilog"):
    exec(f"def at_{name}(spank): note_call(spank)")
    mark = getattr(hook.spank, name)
    mark = mark(contexts=["remote"]) if name in ("init_post_opt", "exit") else mark
    mark(globals()[f"at_{name}"])
"""
)
NAMESPACE_YAML = """
defaults:
  auto_base_path: true
  base_path: /run/namespaces/%n
  dirs: /tmp
  shared: true
  init_script: /opt/ns_init
  clone_ns_script: /opt/ns_begin
  clone_ns_epilog: /opt/ns_end
"""
NAMESPACE_SCRIPT = f"""#!/bin/sh
echo "{{\\"place\\": \\"script ${{0##*_}}\\", \\"inside\\": false}}" >> {RECORDS}
"""


def test_scripts_of_namespace_linux(lent: Site) -> None:
    """Slurm starts them between job_prolog and the extern step; hooks of other steps run in the job's namespace."""
    if lent.since < (26, 5):
        pytest.skip("this release has no namespace/linux, or Debian's packages lack it")
    lent.cluster.put(NAMESPACE_YAML, "/etc/slurm/namespace.yaml")
    for name in ("init", "begin", "end"):
        lent.cluster.put(NAMESPACE_SCRIPT, f"/opt/ns_{name}", 0o755)
    with changed(lent, NamespaceType="namespace/linux", PrologFlags="Contain"):
        lent.root(f"readlink /proc/1/ns/mnt > {RECORDS_D}/node")
        use(lent, NAMESPACES)
        assert lent.shell("srun -n1 -t1 true").returncode == 0
        rows = lent.wait_for_records(1, place="node job_epilog") and lent.records()
    calls = [(row["place"], row["inside"]) for row in rows]
    step = [(f"0 {name}", True) for name in ("init_post_opt", "task_init", "exit")]
    outside = ["node job_prolog", "script init", "script begin", "extern init_post_opt", "extern exit", "script end",
               "node job_epilog"]  # fmt: skip
    assert [call for call in calls if call not in step] == [(name, False) for name in outside]
    assert [call for call in calls if call in step] == step


GET = """
import http.client, sys
_, port, path = sys.argv
client = http.client.HTTPConnection("127.0.0.1", int(port))
client.request("GET", path)
print(client.getresponse().read().decode(), end="")
"""


def test_metrics_of_slurm(lent: Site) -> None:
    """Slurm's own metrics and ours can be read at the same time, and have different names."""
    if lent.since < (25, 11):
        pytest.skip("this release has no MetricsType")
    lent.root("install -d -o slurm /run/slurmhooks; cat /etc/slurm/slurmhooks.toml > /root/toml")
    lent.root("echo '[metrics]\ntextfiles = \"/run/slurmhooks\"\ninterval = 0.1' >> /etc/slurm/slurmhooks.toml")
    use(lent, REQUEST)
    try:
        lent.cluster.restart("slurmctld")
        port = lent.root("scontrol show config | sed -n 's/^SlurmctldPort *= *//p'").strip()

        def names(text: str) -> set[str]:
            return {family.name for family in metrics(text)}

        def shown() -> set[str]:
            return names(lent.root("cat /run/slurmhooks/slurmhooks_job_submit.prom || true"))

        assert lent.shell("sbatch -n1 -o /dev/null --wrap true").returncode == 0
        lent.cluster.wait(lambda: "slurmhooks_requests" in shown(), what="our metrics")
        ours = shown()
        pages = [
            lent.cluster.user("alice", "python3", "-c", GET, port, f"/metrics/{each}").stdout
            for each in ("jobs", "nodes", "partitions")
        ]
        slurms = set().union(*map(names, pages))
        assert {"slurm_jobs", "slurm_nodes"} <= slurms
        assert {name.startswith("slurmhooks_") for name in ours} == {True}
        assert not any(name.startswith("slurmhooks") for name in slurms)
    finally:
        lent.root("cat /root/toml > /etc/slurm/slurmhooks.toml")
        lent.cluster.changed()


GROUP = "/run/cgroup"
CGROUPS = f"""
    mkdir -p /run/freezer {GROUP}/freezer
    mount -t cgroup -o freezer freezer /run/freezer
    mkdir -p /run/freezer/$1
    mount --bind /run/freezer/$1 {GROUP}/freezer
    printf 'CgroupPlugin=cgroup/v1\\nCgroupMountpoint={GROUP}\\n' > /etc/slurm/cgroup.conf
"""
"""Gives the cluster cgroups: the tree of this machine is a hybrid, which Slurm's cgroup/v2 refuses."""
IN_JOB = (
    NOTE
    + """
from slurmhooks import Reject

def note_call(spank):
    group = open("/proc/self/cgroup").read()
    note(place=f"{spank.step_name} {spank.callback}", root=os.getuid() == 0, job=f"/job_{spank.job_id}" in group)

@hook.spank.task_post_fork
def begin(spank):
    note_call(spank)
    if spank.step_name == "extern" and os.path.exists("/opt/spank/refuse"):
        raise Reject("this node is not ready")

@hook.spank.exit(contexts="remote")
def end(spank):
    note_call(spank)

@hook.spank.job_prolog
def prolog(spank):
    note(place="job_prolog")

@hook.spank.job_epilog
def epilog(spank):
    note(place="job_epilog")
"""
)
SCRIPT = f"""#!/bin/sh
case $(cat /proc/self/cgroup) in */job_$SLURM_JOB_ID*) job=true ;; *) job=false ;; esac
echo "{{\\"place\\": \\"$SLURM_SCRIPT_CONTEXT\\", \\"root\\": true, \\"job\\": $job}}" >> {RECORDS}
"""


@contextlib.contextmanager
def changed(lent: Site, **parameters: str) -> Iterator[None]:
    """Let slurm.conf have other parameters."""
    before = lent.root(f"cat {SLURM_CONF}")
    rows = [row for row in before.splitlines() if row.partition("=")[0] not in parameters]
    rows += [f"{name}={value}" for name, value in parameters.items()]
    lent.cluster.put("\n".join([*rows, ""]), SLURM_CONF)
    try:
        lent.cluster.restart()
        yield
    finally:
        lent.cluster.put(before, SLURM_CONF)
        lent.cluster.restart()


@pytest.fixture
def in_job(lent: Site) -> Iterator[Site]:
    """The cluster with a prolog and an epilog that run in the job, and with cgroups."""
    if lent.since < (24, 5):
        pytest.skip("this release has no PrologFlags=RunInJob")
    lent.cluster.put(SCRIPT, "/opt/script", 0o755)
    groups = lent.root("cat /etc/slurm/cgroup.conf")
    lent.cluster.root("sh", "-ec", CGROUPS, "sh", f"slurmhooks-{lent.cluster.name}-{lent.cluster.release}", check=True)
    scripts = {"Prolog": "/opt/script", "Epilog": "/opt/script"}
    with changed(lent, ProctrackType="proctrack/cgroup", PrologFlags="RunInJob", **scripts):
        yield lent
        lent.cluster.put(groups, "/etc/slurm/cgroup.conf")
    lent.root(f"umount {GROUP}/freezer; find /run/freezer/slurmhooks-* -depth -type d -delete; umount /run/freezer")


def test_a_prolog_in_the_job(in_job: Site) -> None:
    """With PrologFlags=RunInJob, slurmstepd runs Prolog and Epilog, and no hook of prolog and epilog.

    Hooks of the extern step run as root in the job's cgroup, before Prolog and before Epilog; a refusal before Prolog
    keeps the job from starting.
    """
    in_job.hooks(recent=IN_JOB)
    said = in_job.cluster.refusal()
    assert "with PrologFlags=RunInJob, Slurm never calls the 2 handlers of hook.spank.job_epilog" in said
    use(in_job, IN_JOB.partition("@hook.spank.job_prolog")[0])
    assert in_job.shell("sbatch --wait -N1 -o /dev/null --wrap true").returncode == 0
    rows = in_job.wait_for_records(1, place="epilog_slurmd") and in_job.records()
    calls = [row["place"] for row in rows]
    batch = ["batch task_post_fork", "batch exit"]
    assert [call for call in calls if call not in batch] == [
        "extern task_post_fork", "prolog_slurmd", "extern exit", "epilog_slurmd"
    ]  # fmt: skip
    assert calls.index("prolog_slurmd") < calls.index(batch[0])
    assert calls.index(batch[1]) < calls.index("epilog_slurmd")
    assert all(row["root"] and row["job"] for row in rows), rows
    in_job.forget_records()
    in_job.root(f"touch {RECORDS_D}/refuse")
    try:
        refused = in_job.shell("srun -N1 -t1 sh -c 'echo it runs'")
        assert refused.returncode != 0
        assert "it runs" not in refused.stdout
        places = {row["place"] for row in in_job.wait_for_records(1, place="epilog_slurmd") and in_job.records()}
        assert places == {"extern task_post_fork", "extern exit", "epilog_slurmd"}
        assert in_job.drained() == []
    finally:
        in_job.root(f"rm {RECORDS_D}/refuse")
