# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers in Slurm's processes: forks, threads, many tasks, many nodes."""

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site
from tests.cluster.spank.steps import remote, run, use
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster


@pytest.mark.moved
@pytest.mark.parametrize("mode", ["manifest", *moved("python")])
def test_64_tasks_on_a_node(lent: Site, mode: str) -> None:
    """Each of 64 tasks has its own calls of handlers, in its own process."""
    use(
        lent,
        """
@in_step
def each(spank):
    task = spank.task_global_id if spank.callback.startswith("task_") else None
    note(spank, task=task, status=spank.task_exit_status.exit_code if spank.callback == "task_exit" else None)
""",
    )
    if mode == "python":
        lent.without_manifest()
    done = lent.shell("srun -Q -w n1 --overcommit -n64 sh -c 'exit $((SLURM_PROCID % 7))'")
    assert done.returncode == 6
    records = remote(lent, 4 * 64 + 4)
    for callback in ("task_init_privileged", "task_init", "task_post_fork", "task_exit"):
        assert sorted(r["task"] for r in records if r["callback"] == callback) == list(range(64)), callback
    assert all(r["status"] == r["task"] % 7 for r in records if r["callback"] == "task_exit")
    pids = {r["pid"] for r in records if r["callback"] == "task_init"}
    assert len(pids) == 64
    assert pids == {r["pid"] for r in records if r["callback"] == "task_init_privileged"}
    assert len({r["pid"] for r in records if r["callback"] in ("task_post_fork", "task_exit", "user_init")}) == 1


@pytest.mark.moved
@pytest.mark.parametrize("mode", ["manifest", *moved("python")])
def test_many_tasks_as_few(lent: Site, mode: str) -> None:
    """With many tasks on a node, handlers write, refuse and report in the same way as with few."""
    use(
        lent,
        """
@hook.spank.task_init_privileged
def privileged(spank):
    spank.env["PLAIN"] = f"{spank.task_id} of {spank.job_local_task_count}"
    spank.env["GONE"] = "1"

@hook.spank.task_init(on_error="ignore")
def lenient(spank):
    spank.env["LOST"] = "1"
    if hasattr(spank._calls.lib, "spank_prepend_task_argv"):
        spank.prepend_task_argv(["env", "LOST=2"])
    raise ValueError("lenient")

@hook.spank.task_init
def task(spank):
    spank.env["ODD"] = "\\u00e4\\udcff" + "x" * 5000
    del spank.env["GONE"]
    if hasattr(spank._calls.lib, "spank_prepend_task_argv"):
        spank.prepend_task_argv(["env", "WORD=1"])
    note(spank, task=spank.task_id)
    if spank.task_id == 1 and "REFUSE" in spank.env:
        raise Reject("not this one")
""",
    )
    if mode == "python":
        lent.without_manifest()
    show = r"""sh -c 'echo "$SLURM_PROCID|$PLAIN|${GONE-none}|${LOST-none}|$(printf %s "$ODD" | md5sum)|$WORD"' """
    lines = {}
    for count in (2, 8):
        lent.forget_records()
        done = lent.shell(f"srun -Q -w n1 --overcommit -n{count} {show}")
        assert done.returncode == 0, done.stdout
        lines[count] = sorted(line for line in done.stdout.splitlines() if "|" in line)
        assert done.stdout.count("handler hooks:lenient failed") == count
        assert sorted(record["task"] for record in remote(lent, count)) == list(range(count))
        refused = lent.shell(f"REFUSE=1 srun -Q -w n1 --overcommit -n{count} true")
        assert refused.returncode == 1
        assert refused.stdout.count("not this one") == 1
    assert lines[2] == [line.replace(" of 8", " of 2") for line in lines[8]][:2]
    assert lines[8][7].startswith("7|7 of 8|none|none|")
    assert lines[8][7].endswith("|1" if lent.since >= (23, 11) else "|")


def test_busy_thread(lent: Site) -> None:
    """A thread that a handler leaves running disturbs no later call and no task, whatever it does when Slurm forks."""
    use(
        lent,
        """
count = 0
lock = threading.Lock()

def spin():
    global count
    while True:
        with lock:
            count += len(str(count))

@hook.spank.init(contexts=["remote"])
def start(spank):
    threading.Thread(target=spin, daemon=True).start()

@in_step
def each(spank):
    before = count
    if os.getpid() == pid and spank.callback != "init":
        deadline = time.monotonic() + 20
        while count == before and time.monotonic() < deadline:
            time.sleep(0.001)
    note(spank, alive=count > before, forked=os.getpid() != pid)

pid = os.getpid()
""",
    )
    for _ in range(3):
        assert run(lent, "srun -Q -n4 echo done") == "done\n" * 4
    records = remote(lent, 3 * (4 * 4 + 4))
    assert {r["alive"] for r in records if not r["forked"] and r["callback"] != "init"} == {True}
    assert {r["alive"] for r in records if r["forked"]} == {False}


def test_exit_of_a_handler(lent: Site) -> None:
    """sys.exit() in a handler is a bug of the handler and does not end a process of Slurm."""
    use(
        lent,
        """
@hook.spank.task_exit(on_error="ignore")
@hook.spank.user_init(on_error="ignore")
@hook.spank.exit(on_error="ignore", contexts=["remote", "local"])
def leave(spank):
    sys.exit(7)

@hook.spank.exit(order=60)
def still_there(spank):
    note(spank)
""",
    )
    output = run(lent, "srun echo done")
    assert "done\n" in output
    assert "handler hooks:leave failed (error " in output
    lent.wait_for_records(callback="exit", context="remote")
    lent.wait_for_records(callback="exit", context="local")


def test_end_of_a_command(lent: Site) -> None:
    """exit handlers run when the command ends, even if a signal or an error ends it."""
    use(
        lent,
        """
import atexit, threading
atexit.register(lambda: print("never: Python is not finalised", flush=True))

@hook.spank.exit(contexts=["local", "allocator"])
def end(spank):
    found = []
    thread = threading.Thread(target=found.append, args=(1,))
    thread.start()
    thread.join(20)
    import decimal, json
    note(spank, thread=found, sum=str(decimal.Decimal("1.5") + 1), args=list(spank.args))
""",
    )
    assert run(lent, "srun -Q echo done; salloc -Q true; sbatch -Q -o /dev/null --wrap true") == "done\n"
    # Background jobs of a shell without a terminal ignore SIGINT.
    lent.shell(
        "srun -Q false; rm -f runs; env --default-signal=INT srun -Q --quit-on-interrupt sh -c 'touch runs; sleep 60' &"
        " until test -e runs || ! kill -0 $!; do sleep 0.1; done; kill -INT $!; wait"
    )
    lent.wait_until_idle()
    records = lent.records()
    assert [record["context"] for record in records] == ["local", "allocator", "allocator", "local", "local"]
    assert all((record["thread"], record["sum"]) == ([1], "2.5") for record in records)


def test_memory_of_a_task_is_its_own(lent: Site) -> None:
    """Each task sees values that handlers of the step have computed; others do not see a task's changes."""
    use(
        lent,
        """
state = {"trail": []}

@in_step
def each(spank):
    state["trail"].append(spank.callback)
    note(spank, trail=state["trail"])
""",
    )
    run(lent, "srun -Q -n2 true")
    records = remote(lent, 4 + 4 * 2)
    for record in records:
        if record["callback"] == "task_init":
            assert record["trail"] == ["init", "init_post_opt", "user_init", "task_init_privileged", "task_init"] or (
                # The second task is forked before or after the first one's task_post_fork.
                "task_post_fork" in record["trail"]
            )
    last = next(record for record in records if record["callback"] == "exit")
    assert Counter(last["trail"]) == Counter(
        ["init", "init_post_opt", "user_init", *["task_post_fork"] * 2, *["task_exit"] * 2, "exit"]
    )


def test_reconfigure(lent: Site) -> None:
    """'scontrol reconfigure', which restarts slurmd from 23.11 on, works with handlers and threads in slurmd."""
    use(
        lent,
        """
ended = threading.Event()

@hook.spank.init(contexts=["slurmd"])
def begin(spank):
    threading.Thread(target=ended.wait, daemon=True).start()
    note(spank)

@hook.spank.slurmd_exit
def end(spank):
    ended.set()
    note(spank)

@hook.spank.task_init
def task(spank):
    note(spank)
""",
    )
    lent.cluster.restart("n1", "n2")
    lent.wait_for_records(2, callback="init")
    for times in (1, 2):
        lent.root("scontrol reconfigure")
        if lent.since >= (23, 11):
            lent.wait_for_records(2 * (1 + times), callback="init")
        assert run(lent, "srun -Q -N2 echo done") == "done\n" * 2
    callbacks = Counter(record["callback"] for record in lent.records())
    assert callbacks["task_init"] == 4
    assert callbacks["init"] == (6 if lent.since >= (23, 11) else 2)
    assert callbacks["slurmd_exit"] == 0
    assert lent.drained() == []
    lent.hooks()
    lent.cluster.restart("n1", "n2")
    lent.wait_for_records(2, callback="slurmd_exit")


def test_a_node_without_a_step(lent: Site) -> None:
    """On a node where no step of the job runs, the epilog runs without a prolog; its state is empty, and says why."""
    use(
        lent,
        """
@hook.spank.job_prolog
def prolog(spank):
    spank.state["folder"] = "x"
    note(spank, node=os.environ["SLURMD_NODENAME"])

@hook.spank.job_epilog
def epilog(spank):
    error = ""
    try:
        spank.state["folder"]
    except KeyError as missing:
        error = str(missing)
    note(spank, node=os.environ["SLURMD_NODENAME"], state=dict(spank.state), error=error)
""",
    )
    lent.cluster.restart("n1", "n2")
    try:
        lent.shell("sbatch -N2 --wait --output=/dev/null --wrap true")
        ended = {record["node"]: record for record in lent.wait_for_records(2, callback="job_epilog")}
        (begun,) = lent.wait_for_records(callback="job_prolog")
        (other,) = {"n1", "n2"} - {begun["node"]}
        assert ended[begun["node"]]["state"] == {"folder": "x"}
        assert ended[other]["state"] == {}
        assert "has not run here" in ended[other]["error"]
        lent.wait_until_idle()
        assert lent.drained() == []
    finally:
        lent.hooks()
        lent.cluster.restart("n1", "n2")


@pytest.mark.moved
def test_3_nodes_of_8_tasks(large_cluster: "Cluster") -> None:
    """On each of three nodes the handlers of the step run once, and those of tasks once for each of eight tasks."""
    lent = site(large_cluster)
    lent.plugstack("required spank_python.so")
    use(
        lent,
        """
@in_step
def each(spank):
    task = spank.callback.startswith("task_")
    note(spank, node=spank.env["SLURMD_NODENAME"] if "SLURMD_NODENAME" in spank.env else None, nodeid=spank.job_nodeid,
         here=spank.job_local_task_count, all=spank.job_total_task_count, nodes=spank.job_nnodes,
         task=spank.task_global_id if task else None, local=spank.task_id if task else None,
         first=spank.job_local_to_global_id(0),
         ids=[spank.job_global_to_local_id(spank.job_local_to_global_id(i)) for i in range(8)])
    if spank.callback == "task_init":
        spank.env["HELLO"] = f"{spank.job_nodeid}:{spank.task_id}:{spank.task_global_id}"
""",
    )
    output = run(lent, "srun -Q -N3 --ntasks-per-node=8 sh -c 'echo $SLURM_NODEID:$SLURM_LOCALID:$SLURM_PROCID $HELLO'")
    words = [row.split() for row in output.splitlines()]
    assert len(words) == 24
    assert all(ours == slurms for ours, slurms in words)
    records = remote(lent, 3 * (4 + 4 * 8))
    assert Counter((r["nodeid"], r["callback"]) for r in records) == Counter(
        {
            (node, callback): 8 if callback.startswith("task_") else 1
            for node in range(3)
            for callback in {r["callback"] for r in records}
        }
    )
    for callback in ("task_init_privileged", "task_init", "task_post_fork", "task_exit"):
        assert sorted(r["task"] for r in records if r["callback"] == callback) == list(range(24))
    assert {(r["here"], r["all"], r["nodes"], tuple(r["ids"])) for r in records} == {(8, 24, 3, tuple(range(8)))}
