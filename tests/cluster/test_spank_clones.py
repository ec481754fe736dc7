# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers in clones of slurmstepd, with contain_spank, and the processes and clones that each handler costs."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from slurmhooks.site.variants import COSTLY_CALLBACKS
from tests.cluster.lab.releases import find
from tests.cluster.spank.site import HERE, PLUGIN, Site, site
from tests.cluster.spank.steps import remote, run, use
from tests.cluster.turns import moved, moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.one_release("24.11", "26.05")

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
def contained(cluster: "Cluster") -> Site:
    """A site whose user_init, task_post_fork and task_exit run in the job's own mount namespace."""
    if cluster.version < CONTAINS:
        pytest.skip("SlurmdParameters=contain_spank came with 24.05")
    recent = cluster.version >= (25, 11)
    kind, plugin = ("NamespaceType", "namespace/tmpfs") if recent else ("JobContainerType", "job_container/tmpfs")
    cluster.put("AutoBasePath=true\nBasePath=/var/spool/containers\n", "/etc/slurm/job_container.conf")
    conf = {"PrologFlags": "contain", "SlurmdParameters": "config_overrides,contain_spank", kind: plugin}
    lent_site = site(cluster, **conf)
    lent_site.plugstack("required spank_python.so")
    return lent_site


@pytest.mark.parametrize("mode", ["manifest", *moved("python")])
def test_contain_spank(contained: Site, mode: str) -> None:
    """With contain_spank three callbacks run in clones in the job's namespace, with slurmstepd's memory and threads."""
    use(contained, CONTAINED)
    if mode == "python":
        contained.without_manifest()
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


@pytest.mark.moved
@pytest.mark.parametrize("mode", ["manifest", *moved("python")])
def test_scripts_with_contain_spank(contained: Site, mode: str) -> None:
    """Lua runs in these clones too, with one state for everything that is not forked."""
    contained.root("rm -rf /etc/slurm/lua.d; mkdir /etc/slurm/lua.d; touch /tmp/of_the_host")
    contained.cluster.put(CONTAINED_SCRIPT, "/etc/slurm/lua.d/contained.lua")
    use(contained, "")
    contained.plugstack("required spank_python.so failonerror /etc/slurm/lua.d/*.lua")
    if mode == "python":
        contained.without_manifest()
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
    # Callbacks that cost something are exported together, or not at all.
    Cost("job_prolog", processes=("prolog", "epilog"), clones=6),
    Cost("job_epilog", processes=("prolog", "epilog"), clones=6),
    Cost("local_user_init", python=("srun",)),
    # Loaded once, before the tasks are forked.
    Cost("user_init", processes=("prolog", "epilog"), clones=6, python=("slurmstepd",)),
    Cost("task_init_privileged", python=("slurmstepd",)),
    Cost("task_init", python=("slurmstepd",)),
    Cost("task_post_fork", processes=("prolog", "epilog"), clones=6, python=("slurmstepd",)),
    Cost("task_exit", processes=("prolog", "epilog"), clones=6, python=("slurmstepd",)),
    Cost("slurmd_exit"),
)


@pytest.fixture(scope="module")
def counted(cluster: "Cluster", request: pytest.FixtureRequest) -> Site:
    """A site that counts processes, with contain_spank if Slurm has it."""
    counting: Site = request.getfixturevalue("lent" if cluster.version < CONTAINS else "contained")
    cluster.put((HERE / "count.c").read_text(), "/opt/count.c")
    counting.root(
        "gcc -shared -fPIC -Wall -Werror -o /opt/count.so /opt/count.c -ldl && echo /opt/count.so > /etc/ld.so.preload"
    )
    return counting


LOOK = "for pid in $PPID $(pgrep -x srun); do ! grep -q libpython /proc/$pid/maps || ps -o comm= $pid; done"


def have_one(counted: Site, language: str, callback: str | None) -> None:
    """Install a handler for one callback, or no handler; and the lean plugin, if it exports this callback."""
    lean = callback not in COSTLY_CALLBACKS
    # slurmd does not start with the lean plugin if the set in force needs the other one.
    counted.plugstack("required spank_python.so")
    use(counted, "")
    counted.root(
        f"test -e /opt/whole.so || cp -L {PLUGIN} /opt/whole.so; cp --remove-destination /opt/whole.so {PLUGIN}"
    )
    if lean:
        counted.root(f"ln -sfn slurmhooks/spank_python-lean.so {PLUGIN}")
    # A set with a prolog is refused while a slurmd runs that has started with the lean plugin.
    counted.cluster.restart("n1")
    scripted = language == "lua"
    use(counted, f"\n@hook.spank.{callback}\ndef handler(spank): ...\n" if callback and not scripted else "")
    counted.root("rm -rf /etc/slurm/lua.d; mkdir /etc/slurm/lua.d")
    counted.cluster.put(
        f"function slurm_spank_{callback}(spank) end" if callback else "-- nothing\n", "/etc/slurm/lua.d/one.lua"
    )
    counted.plugstack(f"required spank_python.so{' /etc/slurm/lua.d/*.lua' * scripted}")


OFTEN = [(None, "python"), ("job_prolog", "python"), ("task_init", "python"), ("task_init", "lua")]
OTHERS = {
    *((cost.callback, "python") for cost in COSTS),
    # The manifest does not depend on the language, so one callback of each group is enough for Lua.
    *((callback, "lua") for callback in ("job_prolog", "local_user_init", "user_init")),
}.difference(OFTEN)


@pytest.mark.parametrize(("callback", "language"), moved_from(2, [*OFTEN, *moved(*sorted(OTHERS))]))
def test_what_is_not_used_costs_nothing(counted: Site, callback: str | None, language: str) -> None:
    """With the lean plugin nothing costs a process or a clone, and Python runs only for handlers."""
    cost = next(each for each in COSTS if each.callback == callback)
    have_one(counted, language, callback)
    counted.cluster.deploy()
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
