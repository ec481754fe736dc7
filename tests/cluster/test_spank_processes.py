# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers in Slurm's processes: forks, clones, threads, many tasks, many nodes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.conftest import UP_SECONDS, running
from tests.cluster.lab.releases import find
from tests.cluster.spank.site import HERE, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HEAD = """
import json, os, sys, threading, time
from slurmhooks import Reject, hook, log

def note(spank, **fields):
    line = json.dumps({"callback": spank.callback, "context": spank.context, "pid": os.getpid(), **fields}) + "\\n"
    descriptor = os.open("/opt/spank/records", os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)

def in_step(handler):
    for callback in ("init", "init_post_opt", "user_init", "task_init_privileged", "task_init", "task_post_fork",
                     "task_exit", "exit"):
        handler = getattr(hook.spank, callback)(contexts=["remote"])(handler)
    return handler
"""
IN_STEP = 8
"""The number of callbacks in a step of one task."""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Iterator[Site]:
    """A site; each test has its own hook file."""
    with site(cluster) as lent_site:
        lent_site.plugstack("required spank_python.so")
        yield lent_site


def use(lent: Site, text: str) -> None:
    """Install one hook file, and remove records."""
    lent.root("scancel --user=alice")
    lent.wait_until_idle()
    lent.resume()
    lent.hooks(hooks=HEAD + text)
    lent.forget_records()


def run(lent: Site, command: str, **env: str) -> str:
    """Run a command that must succeed; return its output after its job has ended."""
    done = lent.shell(command, **env)
    assert done.returncode == 0, done.stdout
    lent.wait_until_idle()
    return done.stdout


def remote(lent: Site, records: int) -> list[dict[str, Any]]:
    """Wait for a number of records of steps, and return them."""
    lent.cluster.wait(
        lambda: sum(record["context"] == "remote" for record in lent.records()) >= records,
        what=f"{records} records, {Counter(record['callback'] for record in lent.records())}",
    )
    return [record for record in lent.records() if record["context"] == "remote"]


@pytest.mark.parametrize("mode", ["python", "manifest"])
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
    if mode == "manifest":
        lent.compile()
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


@pytest.mark.parametrize("mode", ["python", "manifest"])
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
    if mode == "manifest":
        lent.compile()
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


def test_subprocess(lent: Site) -> None:
    """A handler may run commands, in every callback, and gets their output and exit codes; user_init is still root."""
    use(
        lent,
        """
import signal, subprocess

@in_step
def each(spank):
    # proctrack/linuxproc counts what handlers start among the step's processes, and a job that ends ends them.
    # Ignored, not blocked: dash unblocks what it was started with.
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    done = subprocess.run(["sh", "-c", "id -u; exit 3"], capture_output=True, text=True)
    note(spank, shell=int(done.stdout), code=done.returncode, uid=os.getuid(), euid=os.geteuid(),
         command=int(subprocess.check_output(["id", "-u"])),
         popen=os.popen("echo popen").read(), system=os.waitstatus_to_exitcode(os.system("exit 4")))
    if before is not None:  # Slurm's own cannot be put back
        signal.signal(signal.SIGTERM, before)

@hook.spank.init_post_opt(contexts=["local"])
@hook.spank.exit(contexts=["local"])
def here(spank):
    each(spank)

@hook.spank.job_prolog
@hook.spank.job_epilog
def there(spank):
    each(spank)
""",
    )
    assert run(lent, "srun -Q echo done") == "done\n"
    remote(lent, IN_STEP)
    lent.wait_for_records(callback="job_epilog")
    for record in lent.records():
        assert (record["code"], record["popen"], record["system"]) == (3, "popen\n", 4), record
        # A shell returns to the real user, which is root in user_init.
        assert (record["command"], record["shell"]) == (record["euid"], record["uid"]), record
    users = {record["callback"]: (record["uid"], record["euid"]) for record in lent.records()}
    assert users["user_init"] == (0, 2001)
    assert users["task_init"] == (2001, 2001)
    assert {"job_prolog", "job_epilog"} <= users.keys()


def test_open_files(lent: Site) -> None:
    """The user's program inherits only descriptors that handlers made inheritable on purpose."""
    use(
        lent,
        """
kept = []

@in_step
def each(spank):
    kept.append(open("/etc/hostname"))
    kept.append(os.pipe())
    kept.append(__import__("socket").socket())
    note(spank, kept=len(kept))

@hook.spank.task_init
def on_purpose(spank):
    descriptor = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
""",
    )
    output = run(lent, "srun -Q sh -c 'ls -l /proc/self/fd'")
    assert output.count("/etc/passwd") == 1
    assert "/etc/hostname" not in output
    # The program's pipes and sockets are its own input, output and error.
    assert sum("pipe:" in row or "socket:" in row for row in output.splitlines()) <= 3, output


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
    lent.cluster.restart()
    lent.wait_for_records(2, callback="init")
    for times in (1, 2):
        lent.root("scontrol reconfigure")
        if lent.since >= (23, 11):
            lent.wait_for_records(2 * (1 + times), callback="init")
        assert run(lent, "srun -Q -N2 echo done") == "done\n" * 2
    callbacks = Counter(record["callback"] for record in lent.records())
    assert callbacks["task_init"] == 4
    assert callbacks["init"] == (6 if lent.since >= (23, 11) else 2)
    assert lent.drained() == []
    lent.hooks()
    lent.cluster.restart()
    lent.wait_for_records(2, callback="slurmd_exit")


CONTAINS = (24, 5)
"""The first release with SlurmdParameters=contain_spank."""
CONTAINED = """
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

def deep():
    # As far as Python lets it: it must raise, not crash.
    try:
        depth(10**6)
    except RecursionError:
        return "RecursionError"

def encode(n):
    value = []
    for _ in range(n):
        value = [value]
    try:
        return len(json.dumps(value))
    except RecursionError:
        return "RecursionError"

state = []
count = 0

def spin():
    global count
    while True:
        count += len(str(count))

@hook.spank.init(contexts=["remote"], order=1)
def start(spank):
    threading.Thread(target=spin, daemon=True).start()

def busy():
    before, deadline = count, time.monotonic() + 20
    while count == before and time.monotonic() < deadline:
        time.sleep(0.001)
    return count > before

@in_step
def each(spank):
    state.append(spank.callback)
    fields = {"root": os.listdir("/tmp"), "shallow": depth(500), "deep": deep(), "encode": encode(3000),
              "state": len(state), "uid": [os.getuid(), os.geteuid()],
              "namespace": os.readlink("/proc/self/ns/mnt"), "job": spank.job_id,
              "status": spank.task_exit_status.raw if spank.callback == "task_exit" else None}
    if spank.callback in ("user_init", "task_post_fork", "task_exit"):
        import subprocess
        fields["sub"] = subprocess.run(["ls", "/tmp"], capture_output=True, text=True).stdout.split()
        spank.env["FROM_" + spank.callback] = "yes"
        fields["busy"] = busy()
    note(spank, **fields)
    if spank.env.get("FAIL") == spank.callback:
        raise Reject("refused in the container")
"""


@pytest.fixture(scope="module")
def contained(cluster: "Cluster") -> Iterator[Site]:
    """A site whose user_init, task_post_fork and task_exit run in the job's own mount namespace."""
    if cluster.version < CONTAINS:
        pytest.skip("SlurmdParameters=contain_spank came with 24.05")
    recent = cluster.version >= (25, 11)
    kind, plugin = ("NamespaceType", "namespace/tmpfs") if recent else ("JobContainerType", "job_container/tmpfs")
    cluster.put("AutoBasePath=true\nBasePath=/var/spool/containers\n", "/etc/slurm/job_container.conf")
    conf = {"PrologFlags": "contain", "SlurmdParameters": "config_overrides,contain_spank", kind: plugin}
    with site(cluster, **conf) as lent_site:
        lent_site.plugstack("required spank_python.so")
        yield lent_site


@pytest.mark.parametrize("mode", ["python", "manifest"])
def test_contain_spank(contained: Site, mode: str) -> None:
    """With contain_spank three callbacks run in clones in the job's namespace, with slurmstepd's memory and threads."""
    use(contained, CONTAINED)
    if mode == "manifest":
        contained.compile()
    contained.root("touch /tmp/of_the_host")
    output = run(contained, "srun -Q -w n1 -n2 sh -c 'touch /tmp/of_the_job; echo $FROM_user_init; exit 0'")
    assert output == "yes\nyes\n"
    records = remote(contained, 4 + 4 * 2 + 4)
    step = [record for record in records if record["state"] > 0 and record["callback"] != "init"]
    host = next(record for record in records if record["callback"] == "init")
    for record in step:
        inside = record["callback"] in ("user_init", "task_post_fork", "task_exit", "task_init_privileged", "task_init")
        if record["callback"] in ("user_init", "task_post_fork", "task_exit"):
            assert "of_the_host" not in record["root"], record
            assert record["sub"] == sorted(record["root"]), record
            assert record["pid"] != host["pid"]
            assert record["busy"], record
        assert (record["namespace"] != host["namespace"]) == inside, record
        assert record["shallow"] == 500
        assert record["deep"] == "RecursionError"
        # Recursion in C, as deep as the clone's stack of 1 MiB allows (8 MiB on 26.05). CPython 3.11 counts it like
        # recursion in Python, and allows less.
        assert record["encode"] == ("RecursionError" if find(contained.cluster.release).python == "3.11" else 6002)
    assert {tuple(r["uid"]) for r in records if r["callback"] == "user_init"} == {(0, 2001)}
    assert {r["status"] for r in records if r["callback"] == "task_exit"} == {0}
    # The clone shares slurmstepd's memory: its changes remain.
    ends = sorted(record["state"] for record in records if record["callback"] == "exit")
    assert ends[-1] == 1 + 1 + 1 + 2 + 2 + 1


@pytest.mark.parametrize("callback", ["user_init", "task_post_fork"])
def test_refusal_in_a_container(contained: Site, callback: str) -> None:
    """A refusal in a clone fails the step like one outside a clone."""
    use(contained, CONTAINED)
    done = contained.shell("srun -w n1 echo RAN", FAIL=callback)
    assert done.returncode == 1, done.stdout
    assert "refused in the container" in done.stdout
    assert "RAN\n" not in done.stdout
    contained.wait_until_idle()
    assert contained.drained() == []


CONTAINED_SCRIPT = """
local function nested(n)
   if n == 0 then return 0 end
   local found
   ("x"):gsub("x", function() found = nested(n - 1) end)
   return found + 1
end
local function depth(n) return n == 0 and 0 or 1 + depth(n - 1) end
-- proctrack/linuxproc counts what handlers start among the step's processes, and a job that ends ends them: again.
local function first(command)
   for _ = 1, 20 do
      local pipe = io.popen(command)
      local line = pipe:read()
      pipe:close()
      if line then return line end
   end
end
for name in ("init user_init task_init_privileged task_init task_post_fork task_exit exit"):gmatch("%S+") do
   _G["slurm_spank_" .. name] = function(spank)
      if spank.context ~= "remote" then return end
      calls = (calls or 0) + 1
      local status = name == "task_exit" and spank:get_item("S_TASK_EXIT_STATUS") or -1
      local answer = spank:setenv("LUA_" .. name, "yes", 1)
      local file = io.open("/opt/spank/records", "a")
      file:write(string.format('{"callback": "%s", "pid": %d, "calls": %d, "namespace": "%s", "tmp": "%s", "deep": %d, '
         .. '"nested": %d, "status": %d, "home": "%s", "set": %s, "uid": %d}\\n', name,
         io.open("/proc/self/stat"):read("*n"), calls, first("readlink /proc/self/ns/mnt"), first("echo /tmp/of_the_*"),
         depth(15000), nested(60), status, tostring(spank:getenv("HOME")), tostring(answer), first("id -u")))
      file:close()
      if spank:getenv("FAIL") == name then return SPANK.FAILURE end
      if spank:getenv("BUG") == name then error("a bug in the container") end
   end
end
"""


@pytest.mark.parametrize("mode", ["python", "manifest"])
def test_scripts_with_contain_spank(contained: Site, mode: str) -> None:
    """Lua runs in these clones too, with one state for everything that is not forked."""
    contained.root("rm -rf /etc/slurm/lua.d; mkdir /etc/slurm/lua.d; touch /tmp/of_the_host")
    contained.cluster.put(CONTAINED_SCRIPT, "/etc/slurm/lua.d/contained.lua")
    use(contained, "")
    contained.plugstack("required spank_python.so failonerror /etc/slurm/lua.d/*.lua")
    if mode == "manifest":
        contained.compile()
    try:
        output = run(contained, "srun -Q -w n1 -n2 sh -c 'touch /tmp/of_the_job; echo $LUA_user_init; exit 0'")
        assert output == "yes\nyes\n"
        contained.wait_for_records(2, callback="exit")
        records = contained.records()
        host = next(record for record in records if record["callback"] == "init")
        for record in records:
            inside = record["callback"] not in ("init", "exit")
            assert (record["namespace"] != host["namespace"]) == inside, record
            if record["callback"] in ("user_init", "task_post_fork", "task_exit"):
                assert record["tmp"] != "/tmp/of_the_host", record
                assert record["pid"] != host["pid"], record
            assert (record["deep"], record["nested"]) == (15000, 60)
        own = ("user_init", "task_init", "task_exit")
        assert {record["home"] for record in records if record["callback"] in own} == {"/home/alice"}
        assert Counter(record["callback"] for record in records if record["status"] == 0) == {"task_exit": 2}
        # The script's counts from clones remain: init, user_init, 2 of task_post_fork, 2 of task_exit.
        assert max(record["calls"] for record in records if record["callback"] == "exit") == 7
        for fault in ("FAIL", "BUG"):
            for callback in ("user_init", "task_post_fork"):
                done = contained.shell("srun -w n1 echo RAN", **{fault: callback})
                assert done.returncode == 1, done.stdout
                assert "RAN\n" not in done.stdout
                contained.wait_until_idle()
                assert contained.drained() == []
    finally:
        contained.root("rm -r /etc/slurm/lua.d")
        contained.plugstack("required spank_python.so")


@dataclass(frozen=True)
class Cost:
    """Slurm's processes for a job on one node, with one step of two tasks.

    Attributes:
        callback: the only one with a handler; None: no handler.
        processes: "prolog", "epilog": slurmd starts slurmstepd for them.
        clones: number of clones of slurmstepd, with contain_spank.
        python: processes with Python: "srun", "slurmstepd".
    """

    callback: str | None
    processes: tuple[str, ...] = ()
    clones: int = 0
    python: tuple[str, ...] = ()


COSTS = (
    Cost(None),
    # Callbacks that cost something are in two groups: four variants of the plugin serve all sites.
    Cost("job_prolog", processes=("prolog", "epilog")),
    Cost("job_epilog", processes=("prolog", "epilog")),
    Cost("local_user_init", python=("srun",)),
    # Loaded once, before the tasks are forked.
    Cost("user_init", clones=6, python=("slurmstepd",)),
    Cost("task_init_privileged", python=("slurmstepd",)),
    Cost("task_init", python=("slurmstepd",)),
    Cost("task_post_fork", clones=6, python=("slurmstepd",)),
    Cost("task_exit", clones=6, python=("slurmstepd",)),
    Cost("slurmd_exit"),
)


@pytest.fixture(scope="module")
def counted(cluster: "Cluster", request: pytest.FixtureRequest) -> Iterator[Site]:
    """A site that counts processes, with contain_spank if Slurm has it."""
    counting: Site = request.getfixturevalue("lent" if cluster.version < CONTAINS else "contained")
    cluster.put((HERE / "count.c").read_text(), "/opt/count.c")
    counting.root(
        "gcc -shared -fPIC -Wall -Werror -o /opt/count.so /opt/count.c -ldl && echo /opt/count.so > /etc/ld.so.preload"
    )
    yield counting
    counting.root("rm -r /etc/ld.so.preload /etc/slurm/lua.d")
    counting.plugstack("required spank_python.so")
    # slurmd still has the variant of the plugin for the previous handler.
    counting.hooks()
    cluster.restart()


LOOK = "for pid in $PPID $(pgrep -x srun); do ! grep -q libpython /proc/$pid/maps || ps -o comm= $pid; done"


def have_one(counted: Site, language: str, callback: str | None) -> None:
    """Install a handler for one callback, or no handler."""
    scripted = language == "lua"
    use(counted, f"\n@hook.spank.{callback}\ndef handler(spank): ...\n" if callback and not scripted else "")
    counted.root("rm -rf /etc/slurm/lua.d; mkdir /etc/slurm/lua.d")
    counted.cluster.put(
        f"function slurm_spank_{callback}(spank) end" if callback else "-- nothing\n", "/etc/slurm/lua.d/one.lua"
    )
    counted.plugstack(f"required spank_python.so{' /etc/slurm/lua.d/*.lua' * scripted}")


IN_LUA = {"job_prolog", "local_user_init", "user_init", "task_init"}
"""The manifest does not depend on the language, so one callback of each group is enough for Lua."""


@pytest.mark.parametrize(
    ("cost", "language"),
    [
        *(pytest.param(cost, "python", id=f"{cost.callback}-python") for cost in COSTS),
        *(pytest.param(cost, "lua", id=f"{cost.callback}-lua") for cost in COSTS if cost.callback in IN_LUA),
    ],
)
def test_what_is_not_used_costs_nothing(counted: Site, cost: Cost, language: str) -> None:
    """A group of callbacks without handlers costs no process and no clone, and Python runs only for handlers."""
    have_one(counted, language, cost.callback)
    counted.compile()
    counted.cluster.restart("n1")
    counted.root(": > /opt/spank/processes; chmod 666 /opt/spank/processes")
    done = counted.shell(f"srun -Q -w n1 -n2 sh -c '{LOOK}' | sort -u", user="root")
    counted.wait_until_idle()
    assert tuple(sorted(done.stdout.split(), reverse=True)) == cost.python, done.stdout
    wanted = {f"start {name}": 1 for name in cost.processes}
    if cost.clones and counted.since >= (24, 5):
        wanted["clone callback"] = cost.clones
    steps = {"start step": 1 if counted.since < (24, 5) else 2}
    counted.cluster.wait(
        lambda: Counter(counted.root("cat /opt/spank/processes").splitlines()) == wanted | steps,
        what=counted.root("cat /opt/spank/processes"),
    )


@pytest.fixture(scope="module")
def three(cluster: "Cluster") -> Iterator["Cluster"]:
    """A cluster with three nodes."""
    if len(set(cluster.root("sinfo", "--noheader", "--Node", "--format=%N").stdout.split())) >= 3:
        yield cluster
        return
    with running(cluster.release, f"{cluster.name}-wide", 3) as made:
        made.tool("install", timeout=UP_SECONDS)
        yield made


def test_3_nodes_of_8_tasks(three: "Cluster") -> None:
    """On each of three nodes the handlers of the step run once, and those of tasks once for each of eight tasks."""
    with site(three) as lent:
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
        output = run(
            lent, "srun -Q -N3 --ntasks-per-node=8 sh -c 'echo $SLURM_NODEID:$SLURM_LOCALID:$SLURM_PROCID $HELLO'"
        )
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
