# SPDX-License-Identifier: GPL-2.0-or-later
"""``spank.state`` in Slurm's processes: from the prolog of a job to its epilog, on each node."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.spank.site import Site, settle, site
from tests.cluster.spank.steps import HEAD
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

STATES = "/run/slurmhooks-state"
NOTE = (
    HEAD
    + """
def show(spank, **fields):
    step = spank.step_name if spank.context == "remote" else None
    note(spank, job=spank.job_id, step=step, state={name: str(value) for name, value in spank.state.items()}, **fields)
"""
)
EVERYWHERE = (
    NOTE
    + """
def write(spank):
    show(spank)
    spank.state[f"{spank.callback} {os.environ['SLURMD_NODENAME']}"] = 1

def read(spank):
    try:
        spank.state["x"] = 1
    except Exception as error:
        show(spank, error=str(error))

hook.spank.job_prolog(write)
hook.spank.init(contexts="remote")(write)
hook.spank.init_post_opt(contexts="remote")(write)
hook.spank.user_init(read)
hook.spank.task_init_privileged(read)
hook.spank.task_init(read)
hook.spank.task_post_fork(write)
hook.spank.task_exit(write)
hook.spank.exit(contexts="remote")(write)

@hook.spank.job_epilog
def last(spank):
    show(spank)
    if "fail" in spank.job_control_env:
        1 / 0
"""
)
TWO = """
@hook.spank.job_prolog
def prolog(spank):
    show(spank)
    spank.state["job"] = spank.job_id

@hook.spank.job_epilog
def epilog(spank):
    show(spank)
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A cluster whose jobs have extern steps."""
    prepared = site(cluster, PrologFlags="Contain")
    prepared.plugstack("required spank_python.so")
    return prepared


def use(lent: Site, text: str) -> None:
    """Put one hook file in force, and remove records."""
    settle(lent)
    lent.hooks(hooks=text)
    lent.cluster.restart("n1", "n2")
    lent.forget_records()


def files(lent: Site) -> list[str]:
    """Return the names of the files of jobs."""
    return [name for name in lent.root(f"ls {STATES} 2>/dev/null || true").split() if name != "lock"]


def names(record: dict[str, Any]) -> set[str]:
    """Return the callbacks that have written what a record has seen."""
    return {name.split()[0] for name in record["state"]}


def ended(lent: Site, job: int, epilogs: int = 1) -> list[dict[str, Any]]:
    """Return the records of a job after its last epilog."""
    lent.wait_for_records(epilogs, callback="job_epilog", job=job)
    lent.cluster.wait(lambda: not any(f".{job}." in name for name in files(lent)), what="removal of the state")
    return [record for record in lent.records() if record["job"] == job]


def job_of(lent: Site) -> int:
    """Return the number of the latest job that a prolog has noted."""
    return max(int(record["job"]) for record in lent.wait_for_records(callback="job_prolog"))


def test_from_prolog_to_epilog(lent: Site) -> None:
    """Each callback sees what earlier ones of its job and node have written, also in extern steps; then it is gone."""
    use(lent, EVERYWHERE)
    done = lent.shell("srun -Q -w n1,n2 -N2 -n4 --overcommit true")
    assert done.returncode == 0, done.stdout
    records = ended(lent, job_of(lent), epilogs=2)
    for record in records:
        assert len({name.split()[1] for name in record["state"]}) <= 1, record  # no node sees another one's
    by_callback: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for record in records:
        by_callback.setdefault((record["callback"], record["step"]), []).append(record)
    assert [record["state"] for record in by_callback["job_prolog", None]] == [{}, {}]
    assert [names(record) for record in by_callback["init", "extern"]] == [{"job_prolog"}] * 2
    forked = {"job_prolog", "init", "init_post_opt"}
    for callback, count in (("user_init", 2), ("task_init_privileged", 4), ("task_init", 4)):
        found = by_callback[callback, "0"]
        # task_post_fork of the extern step may have come before.
        assert [names(record) - {"task_post_fork"} for record in found] == [forked] * count, callback
        assert all("read-only in" in record["error"] for record in found)
    for record in by_callback["exit", "0"]:
        assert names(record) >= {*forked, "task_post_fork", "task_exit"}
    assert [names(record) >= {*forked, "exit"} for record in by_callback["job_epilog", None]] == [True, True]


def test_a_batch_job_and_its_steps(lent: Site) -> None:
    """All steps of a job share its state; those that end at the same time lose nothing."""
    use(
        lent,
        NOTE
        + """
@hook.spank.exit(contexts="remote")
def step(spank):
    for number in range(20):
        show(spank) if number == 0 else None
    spank.state[spank.step_name] = [number, None]
"""
        + TWO,
    )
    script = "for i in 0 1 2 3; do srun -Q --overlap -n1 --mem=1 true & done; wait"
    job = int(lent.shell(f"sbatch --parsable -w n1 -o /dev/null --wrap '{script}'").stdout)
    (last,) = [record for record in ended(lent, job) if record["callback"] == "job_epilog"]
    assert set(last["state"]) == {"job", "0", "1", "2", "3", "batch", "extern"}


@pytest.mark.moved
def test_components_and_array_tasks(lent: Site) -> None:
    """Each component of a heterogeneous job and each task of an array is a job with a state of its own."""
    use(lent, NOTE + "@hook.spank.task_init\ndef task(spank): show(spank)\n" + TWO)
    assert lent.shell("srun -Q -w n1 -n1 : -w n2 -n1 true").returncode == 0
    lent.wait_for_records(2, callback="job_epilog")
    tasks = lent.wait_for_records(2, callback="task_init")
    assert len({record["job"] for record in tasks}) == 2
    assert all(record["state"] == {"job": str(record["job"])} for record in tasks)
    lent.forget_records()
    lent.shell("sbatch -w n1 -a 1-3 -o /dev/null --wrap 'true'")
    epilogs = lent.wait_for_records(3, callback="job_epilog")
    assert len({record["job"] for record in epilogs}) == 3
    assert all(record["state"] == {"job": str(record["job"])} for record in epilogs)


def test_a_stale_file_is_not_taken(lent: Site) -> None:
    """A job does not see what one of the same number has left, and a requeued job begins anew."""
    use(
        lent,
        NOTE
        + TWO
        + f"""
@hook.spank.job_epilog(order=60)
def leave(spank):
    import glob, shutil
    for name in glob.glob(f"{STATES}/*.{{spank.job_id}}.*"):
        shutil.copy(name, name.replace(f".{{spank.job_id}}.", f".{{spank.job_id + 1}}."))
""",
    )
    for _ in range(2):
        assert lent.shell("srun -Q -w n1 true").returncode == 0
        lent.wait_until_idle()
    first, second = lent.wait_for_records(2, callback="job_prolog")
    assert second["job"] == first["job"] + 1
    assert first["state"] == second["state"] == {}
    lent.forget_records()
    job = int(lent.shell("sbatch --parsable --requeue -w n1 -o /dev/null --wrap 'sleep 600'").stdout)
    lent.wait_for_records(callback="job_prolog", job=job)
    lent.cluster.wait(lambda: lent.job(job)["JobState"] == "RUNNING", what="start")
    lent.root(f"scontrol requeue {job}")
    lent.wait_for_records(callback="job_epilog", job=job)
    lent.root(f"scontrol update job={job} starttime=now+2")
    again = lent.wait_for_records(2, callback="job_prolog", job=job)
    assert again[1]["state"] == {}
    lent.root(f"scancel {job}")
    lent.wait_until_idle()
    lent.root(f"rm -f {STATES}/n1.*")  # what it has left for a next job


@pytest.mark.moved
def test_it_is_removed_after_a_failed_epilog(lent: Site) -> None:
    """The state of a job whose epilog fails is removed."""
    use(lent, NOTE + TWO + "@hook.spank.job_epilog(order=99)\ndef fail(spank): 1 / 0\n")
    assert lent.shell("srun -Q -w n1 true").returncode == 0
    ended(lent, job_of(lent))
    lent.cluster.wait(lambda: lent.drained(), what="a drained node")
    assert files(lent) == []
    lent.resume()


@pytest.mark.moved
def test_two_lines(lent: Site) -> None:
    """Each line of plugstack.conf has a state of its own, also with the same hook file."""
    settle(lent)
    lent.hooks(
        hooks=NOTE
        + """
@hook.spank.job_prolog
def prolog(spank):
    spank.state["of"] = spank.args[0]

@hook.spank.task_init
def task(spank):
    show(spank, arg=spank.args[0])

@hook.spank.job_epilog
def epilog(spank):
    show(spank, arg=spank.args[0])
"""
    )
    lent.plugstack(*(f"required spank_python.so hooks.d/*.py {word}" for word in ("a", "b")))
    lent.cluster.restart("n1", "n2")
    lent.forget_records()
    try:
        assert lent.shell("srun -Q -w n1 true").returncode == 0
        records = lent.wait_for_records(2, callback="job_epilog") + lent.wait_for_records(2, callback="task_init")
        assert (
            sorted((record["arg"], record["state"]["of"]) for record in records) == [("a", "a")] * 2 + [("b", "b")] * 2
        )
    finally:
        lent.plugstack("required spank_python.so")


EDITS = (
    ("a", "hooks.d/*.py x", "hooks.d/*.py y"),
    ("b", "hooks.d/*.py x", "hooks.d/hooks.py"),
    ("c", "hooks.d/*.py x", "/etc/slurm/more.py", "hooks.d/*.py z"),
)
"""A name, the line at the prolog, and the lines afterwards."""
OTHER = "from slurmhooks import hook\n@hook.spank.task_init\ndef task(spank): pass\n"


@pytest.mark.parametrize("edit", [EDITS[0], *moved(*((edit,) for edit in EDITS[1:]))], ids=lambda edit: edit[0])
def test_an_edit_of_plugstack_conf(lent: Site, edit: tuple[str, ...]) -> None:
    """Steps and epilog of a job have its state also after an edit of the line between prolog and epilog."""
    name, before, *after = edit
    settle(lent)
    lent.hooks(hooks=NOTE + TWO + "@hook.spank.task_init\ndef task(spank): show(spank)\n")
    lent.cluster.put(OTHER, "/etc/slurm/more.py")
    lent.plugstack(f"required spank_python.so {before}")
    lent.cluster.restart("n1", "n2")
    lent.forget_records()
    go = f"/tmp/go-{name}"
    script = f"until test -e {go}; do sleep 0.1; done; srun -Q true"
    try:
        lent.root(f"rm -f {go}")
        job = int(lent.shell(f"sbatch --parsable -w n1 -o /dev/null --wrap '{script}'").stdout)
        lent.wait_for_records(callback="task_init", job=job)  # the batch step
        lent.plugstack(*(f"required spank_python.so {line}" for line in after))
        lent.cluster.deploy()
        lent.root(f"touch {go}")
        records = ended(lent, job)
        seen = [(record["callback"], record["state"]) for record in records if record["callback"] != "job_prolog"]
        assert seen == [*[("task_init", {"job": str(job)})] * 2, ("job_epilog", {"job": str(job)})]
    finally:
        lent.plugstack("required spank_python.so")


def test_no_user_can_read_it(lent: Site) -> None:
    """Users can neither list nor read what jobs have, not even in their own task."""
    use(lent, NOTE + TWO)
    done = lent.shell(f"srun -w n1 sh -c 'ls {STATES}; cat {STATES}/*'")
    assert done.stdout.count("Permission denied") == 2
    assert lent.root(f"stat -c '%U %a' {STATES}").strip() == "root 700"


def test_without_a_prolog(lent: Site) -> None:
    """Where Slurm has run no prolog of SPANK, as with PrologFlags=RunInJob, steps have no state, and leave none."""
    if lent.since < (24, 5):
        pytest.skip("this release has no PrologFlags=RunInJob")
    use(
        lent,
        NOTE
        + """
@hook.spank.init_post_opt(contexts="remote")
@hook.spank.task_init
def step(spank):
    try:
        spank.state.get("job")
    except Exception as error:
        note(spank, step=spank.step_name, error=str(error))
    try:
        spank.state["more"] = 1
    except Exception:
        pass
"""
        + TWO,
    )
    conf = lent.root("cat /etc/slurm/slurm.conf")
    lent.cluster.put(conf.replace("PrologFlags=Contain", "PrologFlags=Contain,RunInJob"), "/etc/slurm/slurm.conf")
    lent.cluster.restart()
    try:
        lent.shell("srun -Q -w n1 true")
        (record,) = lent.wait_for_records(step="extern")
        assert "has not run here" in record["error"]
        lent.wait_until_idle()
        assert files(lent) == []
    finally:
        lent.cluster.put(conf, "/etc/slurm/slurm.conf")
        settle(lent)
        lent.cluster.restart()
