# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile handlers in real srun, slurmstepd, tasks, prolog and epilog: steps end, nothing hangs, the node serves."""

import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster import reporting
from tests.cluster.spank.site import PLUGIN, Site, site
from tests.cluster.test_step_bursts import burst, size_of_slurmd
from tests.cluster.turns import moved_from
from tests.native.test_fork_storm import STORM, THREADS

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS = """
import ctypes, itertools, os, resource, signal, subprocess, sys, threading, time
import slurmhooks.handlers.deadline
from slurmhooks import hook

slurmhooks.handlers.deadline.AGAIN = 0.5

@hook.spank.init_post_opt(contexts="local", timeout=5)
def local(spank):
    exec(os.environ.get("IN_LOCAL", ""), globals())

@hook.spank.init_post_opt(contexts="remote", timeout=5)
def init(spank):
    exec(spank.env.get("IN_INIT", ""), globals())

@hook.spank.user_init(timeout=5)
def user(spank):
    exec(spank.env.get("IN_USER", ""), globals())

@hook.spank.task_init(timeout=5)
def task(spank):
    exec(spank.env.get("IN_TASK", ""), globals())

@hook.spank.exit(contexts="remote", timeout=5)
def exit(spank):
    exec(spank.env.get("IN_EXIT", ""), globals())

def of_file(path):
    if os.path.exists(path):
        exec(open(path).read(), globals())

@hook.spank.job_prolog(timeout=5)
def prolog(spank):
    of_file("/opt/spank/in_prolog")

@hook.spank.job_epilog(timeout=5)
def epilog(spank):
    of_file("/opt/spank/in_epilog")
"""
FORKS = 100
"""By each thread."""
KILLED = 137
"""The exit code of a command that `timeout` has killed."""
EXIT = "os._exit(0)"
CRASH = "ctypes.string_at(0)"
CLOSE = "os.closerange(0, 1024)"
C_EXIT = "ctypes.CDLL(None).exit(0)"
STUCK = "sum(itertools.repeat(1))"
MEMORY = "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); [bytes(1 << 20) for _ in itertools.count()]"
FAILED = r"handler hostile:\w+ failed \(error \w{8}\)"
CRASHED = r"handler hostile:\w+: killed by signal 11: process \d+ ends"
ABORTED = r"aborted before step completely launched"
ENDS = [
    ("LOCAL", EXIT, FAILED),
    ("LOCAL", CRASH, CRASHED),
    ("LOCAL", CLOSE, ""),
    ("INIT", EXIT, ""),
    ("INIT", CRASH, ABORTED),
    ("INIT", CLOSE, ABORTED),
    ("INIT", STUCK, ABORTED),
    ("USER", EXIT, FAILED),
    ("USER", CRASH, ABORTED),
    ("USER", CLOSE, ABORTED),
    ("USER", C_EXIT, ABORTED),
    ("TASK", EXIT, FAILED),
    ("TASK", CRASH, CRASHED),
    ("TASK", MEMORY, FAILED),
    ("TASK", CLOSE, ""),
]
"""Where, the handler's code, what srun shows."""
PASSES = [
    ("LOCAL", "signal.signal(signal.SIGINT, lambda *a: None); signal.alarm(1)"),
    ("INIT", "[signal.signal(number, lambda *a: None) for number in (2, 15, 17)]; signal.alarm(1)"),
    ("INIT", "os.seteuid(2001)"),
    ("INIT", "threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()"),
    ("INIT", "__import__('atexit').register(time.sleep, 1000)"),
    ("USER", "os.fork() or 1 / 0"),
    ("TASK", "os.fork()"),
    ("EXIT", CRASH),
    ("EXIT", CLOSE),
    ("EXIT", "subprocess.Popen(['sleep', '1000'])"),
]


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """The cluster with the hook file."""
    lent = site(cluster)
    lent.hooks(hostile=HOOKS)
    lent.plugstack("required spank_python.so hooks.d/hostile.py")
    return lent


def launched(lent: Site, steps: list[tuple[str, str]]) -> tuple[list[tuple[int, str]], list[int]]:
    """Run steps at the same time, one for each handler.

    Returns:
        The exit code and the output of each srun, and which sruns did not end because nobody cancelled their steps.
    """
    script = "cd $(mktemp -d)\n"
    for number, (where, code) in enumerate(steps):
        script += (
            f'(IN_{where}="{code}" timeout -s KILL 60 srun echo ran > {number} 2>&1; echo "exit $?" >> {number}) &\n'
        )
    # A step that hangs must not fail the later tests; one that only remains must.
    script += 'wait; grep -qx "exit 137" * && { pgrep -f "^slurmstepd: " || echo ended; scancel --me; }; '
    script += f'for i in $(seq 0 {len(steps) - 1}); do echo "=== $i"; cat $i; done'
    before, *parts = re.split(r"^=== \d+\n", lent.shell(script).stdout, flags=re.MULTILINE)
    assert len(parts) == len(steps)
    ends = [(int(part.split()[-1]), part) for part in parts]
    forgotten = [
        number
        for number, ((where, code), (status, _)) in enumerate(zip(steps, ends, strict=True))
        if (status, code) == (KILLED, CLOSE) and where in ("INIT", "USER")
    ]
    return ends, forgotten if "ended" in before.split() else []


def ends_of(
    lent: Site, steps: list[tuple[str, str]], record_property: Callable[[str, object], None]
) -> list[tuple[int, str]]:
    """Run steps at the same time, one for each handler; return the exit code and the output of each srun.

    If a handler closes the descriptors of slurmstepd before the tasks start, it may rarely end before slurmhooks can
    cancel its step, and srun waits forever. Such a step is launched once more, and reported.
    """
    ends, forgotten = launched(lent, steps)
    if forgotten:
        lent.wait_until_idle()
        again, _ = launched(lent, [steps[number] for number in forgotten])
        for number, end in zip(forgotten, again, strict=True):
            record_property(reporting.FORGOTTEN, steps[number])
            ends[number] = end
    return ends


def daemon(lent: Site) -> str:
    """Return the process ids of slurmd."""
    return lent.root("pgrep -x slurmd || pgrep -x slurmd-wlm")


def check_nodes(lent: Site) -> None:
    """Wait for the end of all jobs, and check that nothing of them is left and that the nodes serve."""
    lent.wait_until_idle()
    lent.cluster.wait(
        lambda: not lent.root("ps -eo stat=,args= | grep -E '^Z|[s]lurmstepd: ' || true"), what="no process"
    )
    assert lent.drained() == []
    assert lent.shell("srun echo ran").stdout.split() == ["ran"]


def test_what_ends(lent: Site, record_property: Callable[[str, object], None]) -> None:
    """The step ends and its program does not run; the log names the handler.

    slurmd and later steps are not affected.
    """
    slurmd = daemon(lent)
    steps = [(where, code) for where, code, _ in ENDS]
    for (where, code, text), (status, output) in zip(ENDS, ends_of(lent, steps, record_property), strict=True):
        assert "ran" not in output.split(), (where, code)
        assert re.search(text, output), (where, code, output)
        assert status != KILLED, (where, code, output)
        # srun itself may end with 0 if slurmstepd has started no task; 22.05's always does.
        assert status or where in ("INIT", "USER"), (where, code, output)
    log = lent.cluster.log("slurmd")
    for name in ("init", "user"):
        assert f"handler hostile:{name}: killed by signal 11" in log
    assert "handler hostile:init took more than 5 s cannot be interrupted" in log
    check_nodes(lent)
    assert daemon(lent) == slurmd


def test_what_passes(lent: Site) -> None:
    """The step runs as it does without these handlers, and ends."""
    ends, _ = launched(lent, PASSES)
    for case, (status, output) in zip(PASSES, ends, strict=True):
        assert (status, output.split().count("ran")) == (0, 1), (case, output)
    lent.root("pkill -x sleep")
    log = lent.cluster.log("slurmd")
    put_back = "handler hostile:init has changed the process, and this was put back: "
    for what in ("signal handlers", "the effective user"):
        assert put_back + what in log
    assert "handler hostile:user has forked and its child came back" in log
    check_nodes(lent)


@pytest.mark.parametrize("script", moved_from(1, ["prolog", "epilog"]))
def test_prolog_and_epilog(lent: Site, script: str) -> None:
    """os._exit(0) and a crash are failures, which drain the node like any failure of a prolog or epilog."""
    for code in (EXIT, CRASH):
        lent.root(f"echo '{code}' > /opt/spank/in_{script}")
        try:
            job = lent.shell("sbatch --parsable --no-requeue -o /dev/null --wrap true").stdout.strip()
            lent.cluster.wait(lambda: lent.drained(), what="drained node")
        finally:
            lent.root(f"rm /opt/spank/in_{script}")
            lent.shell(f"scancel {job}")
            lent.wait_until_idle()
            lent.resume()
    log = lent.cluster.log("slurmd")
    assert "raised SystemExit" in log
    assert f"handler hostile:{script}: killed by signal 11" in log


@pytest.mark.moved
def test_threads_that_fork(lent: Site, tmp_path: Path) -> None:
    """With the Python of a release, a process whose threads fork at the same time, as slurmd's do, does not hang."""
    checkout = Path(__file__).parents[2]
    with tarfile.open(tmp_path / "tree.tar", "w") as archive:
        for folder in ("native", "slurmhooks", "tests/fakehost"):
            archive.add(checkout / folder, folder, filter=lambda file: None if "__pycache__" in file.name else file)
    lent.cluster.put(tmp_path / "tree.tar", "/opt/tree.tar")
    storm = STORM.format(threads=THREADS, count=FORKS).replace("$spank hooks.py", f"{PLUGIN} hooks.d/hostile.py")
    lent.cluster.put(storm, "/opt/storm")
    lent.root(
        "mkdir -p /opt/tree && cd /opt/tree && tar xf ../tree.tar && export PATH=/opt/slurmhooks/bin:$PATH &&"
        " meson setup build native -Dtests=true -Dpython=/opt/slurmhooks/bin/python3 && ninja -C build fakehost"
    )
    results = lent.root("timeout -s KILL 150 /opt/tree/build/fakehost -f /opt/storm").splitlines()
    assert [line.split()[1] for line in results if line.startswith("repeat ")] == ["failed=0"] * THREADS


def test_a_burst_of_steps(lent: Site) -> None:
    """Without a manifest, slurmd has Python.

    24 steps in bursts all run, and leave no thread or descriptor in slurmd.
    """
    lent.without_manifest()
    lent.cluster.restart("n1", "n2")
    assert "libpython" in lent.root("cat /proc/$(pgrep -o slurmd)/maps")
    lent.wait_until_idle()
    before = size_of_slurmd(lent)
    assert burst(lent, 24, 12) == 24
    lent.wait_until_idle()

    def as_before() -> bool:
        after = size_of_slurmd(lent)
        return all(after[fact] <= before[fact] for fact in ("Threads", "descriptors"))

    lent.cluster.wait(as_before, what="slurmd as before")
