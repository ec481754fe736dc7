# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks deploy`` and ``rollback``, killed at every step, and the lock that they hold."""

import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.cli import controllers
from slurmhooks.cli.bundles.store import Store
from slurmhooks.worker import commands
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Site

pytestmark = pytest.mark.slow

TOML = '[hooks]\npaths = ["hooks.d/*.py"]\n'
HANDLER = "from slurmhooks import hook\n@hook.job_submit\ndef version_{}(job): pass\n"
SETTINGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
RENAMES = {"os.rename"}
"""The audit event of the calls by which anything comes into force."""
CHANGES = {
    *("os.rename", "os.symlink", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate"),
    *("fcntl.lockf", "fcntl.flock"),
}
"""Those of all calls that change files; a file that is opened to be written counts as well."""
EVENTS = pytest.mark.parametrize(
    "events", [pytest.param(RENAMES, id="renames"), pytest.param(None, id="all", marks=pytest.mark.soak)]
)


class Steps:
    """Kills a command before its Nth change of files, in whichever of its processes that is.

    Args:
        step: N.
        events: the audit events that count; None: all changes of files.
    """

    def __init__(self, step: int, events: set[str] | None = None) -> None:
        self._left = mmap.mmap(-1, 8)  # shared with the children of the command
        self._left[:] = step.to_bytes(8, "little")
        self._events = events
        self._command = os.getpid()
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & SETTINGS
        if opened and str(arguments[0]).endswith((".pyc", "/dev/null")):
            return
        if not (event in self._events if self._events is not None else event in CHANGES or opened):
            return
        left = int.from_bytes(self._left[:], "little", signed=True) - 1
        self._left[:] = left.to_bytes(8, "little", signed=True)
        if not left:
            os.kill(self._command, signal.SIGKILL)
            time.sleep(60)  # a child of the command, which must end with it


@pytest.fixture
def bundles(run: "Call", open_folder: Path) -> list[Path]:
    """Three bundles, whose two hook files have handlers version_1, version_2 and version_3."""
    made = []
    for version in (1, 2, 3):
        folder = open_folder / str(version)
        fill(folder, version)
        made.append(open_folder / f"{version}.tar")
        assert run("bundle", folder, "--output", made[-1]).exit_code == 0
    return made


def fill(folder: Path, version: int) -> None:
    """Write the files of a version."""
    (folder / "hooks.d").mkdir(parents=True, exist_ok=True)
    (folder / "slurmhooks.toml").write_text(TOML)
    for name in ("a.py", "b.py"):
        (folder / "hooks.d" / name).write_text(HANDLER.format(version))


def version(site: "Site") -> int | None:
    """Return the version in force, all of whose files must be there; None if there are no hooks."""
    report = json.loads(site.check("--json").stdout)
    labels = sorted(row["handler"] for row in report["handlers"])
    numbers = {int(label.rpartition("_")[2]) for label in labels}
    assert len(numbers) < 2, report
    assert labels == [f"{name}:version_{number}" for name in "ab" for number in numbers], report
    return numbers.pop() if numbers else None


class Trial:
    """One command that is killed at each step, from the same start, and what follows."""

    def __init__(self, site: "Site", run: "Call", *command: object) -> None:
        self.site = site
        self._run = run
        self._command = command
        self._start = site.etc.parent / "start"
        shutil.copytree(site.etc, self._start, symlinks=True)

    def call(self, *command: object) -> Any:
        """Run a command on the site."""
        return self._run(*command, "--sysconfdir", self.site.etc)

    def in_child(self, prepare: Callable[[], object]) -> int:
        """Run the command from the start in a child that is prepared for it; return the status of the child."""
        shutil.rmtree(self.site.etc)
        shutil.copytree(self._start, self.site.etc, symlinks=True)
        pid = os.fork()
        if not pid:
            try:
                prepare()
                os._exit(self.call(*self._command).exit_code)
            finally:
                os._exit(99)
        return os.waitpid(pid, 0)[1]

    def killed(self, step: int, events: set[str] | None) -> bool:
        """Run the command from the start, killed at a step; tell whether it was."""
        status = self.in_child(lambda: Steps(step, events))
        assert status == signal.SIGKILL or os.waitstatus_to_exitcode(status) in (0, 1), status
        return status == signal.SIGKILL

    def next(self, *command: object) -> bool:
        """Run the next command, which must leave nothing of the killed one; tell whether it succeeded."""
        done = self.call(*command)
        assert Store(self.site.etc).unfinished is None
        hidden = [path.name for path in self.site.etc.rglob(".*") if path.name != ".lock"]
        derived = ("checked", "manifest", "packages", "sums", "burst_buffer.lua")
        assert [name for name in hidden if not name.lstrip(".").startswith(derived)] == [], done.output
        assert done.exit_code or "up to date" in self.site.check().output
        return bool(done.exit_code == 0)


def put(site: "Site", run: "Call", *files: Path) -> None:
    """Deploy bundles, one after the other."""
    for file in files:
        assert site.call("deploy", file).exit_code == 0


Start = Callable[["Site", "Call", list[Path]], None]
STARTS: dict[str, tuple[Start, int | None, set[int | None]]] = {
    "first": (lambda site, run, bundles: fill(site.etc, 0), 2, {0, 2}),
    "without files": (lambda site, run, bundles: None, 2, {None, 2}),
    "another": (lambda site, run, bundles: put(site, run, bundles[0]), 2, {1, 2}),
    "back": (lambda site, run, bundles: put(site, run, bundles[1], bundles[0]), None, {1, 2}),
}
"""What is there before the command, the version that it deploys (None: ``rollback``), and those before and after."""


@EVENTS
@pytest.mark.parametrize("start", moved_from(1, STARTS))
def test_killed_at_each_step(
    site: "Site", run: "Call", bundles: list[Path], start: str, events: set[str] | None
) -> None:
    """Wherever a command is killed, one version as a whole is in force, and the next command finishes the work."""
    (site.etc / "slurmhooks.toml").unlink()
    prepare, number, versions = STARTS[start]
    prepare(site, run, bundles)
    command = ("rollback",) if number is None else ("deploy", bundles[number - 1])
    trial = Trial(site, run, *command)
    seen = set()
    step = 0
    while trial.killed(step := step + 1, events):
        was = version(site)
        seen.add(was)
        assert seen <= versions
        if step % 3 == 0:
            assert trial.next("deploy", bundles[1])
            assert version(site) == 2
        elif step % 3 == 1:
            assert trial.next("deploy", bundles[2])
            assert version(site) == 3
        elif (site.etc / "slurmhooks.d").exists():
            assert trial.next("rollback") or start == "another" or was in (None, 0, 2)
            assert version(site) in versions
    assert seen == versions


@pytest.mark.moved
@EVENTS
def test_killed_while_slurmctld_refuses(
    site: "Site", run: "Call", bundles: list[Path], events: set[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If slurmctld refuses a bundle whose command was killed, the next command puts the former one in force again."""
    put(site, run, bundles[1])
    second = Store(site.etc).deployed
    put(site, run, bundles[0])
    monkeypatch.setattr(commands, "names", lambda folder: ["a socket"])
    monkeypatch.setattr(
        controllers, "serve", lambda folder: ["slurmctld refuses"] if Store(folder).deployed == second else []
    )
    trial = Trial(site, run, "deploy", bundles[1])
    seen = set()
    step = 0
    while trial.killed(step := step + 1, events):
        seen.add(version(site))
        if step % 2:
            assert not trial.next("deploy", bundles[1])
            assert version(site) == 1
        else:
            assert trial.next("deploy", bundles[2])
            assert version(site) == 3
            assert trial.next("rollback")
            assert version(site) == 1
    assert seen == {1, 2}


def test_children_end_with_a_killed_command(site: "Site", run: "Call", bundles: list[Path], open_folder: Path) -> None:
    """A command that is killed while a process of its own loads hook files leaves neither that process nor the lock."""
    put(site, run, bundles[0])
    folder, loading = open_folder / "slow", open_folder / "loading"
    fill(folder, 2)
    (folder / "hooks.d" / "b.py").write_text(
        f"import os, time\nopen({str(loading)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    assert run("bundle", folder, "--output", open_folder / "slow.tar").exit_code == 0
    pid = os.fork()
    if not pid:
        try:
            site.call("deploy", open_folder / "slow.tar")
        finally:
            os._exit(99)
    wait(lambda: loading.exists() and loading.read_text() != "")
    child = int(loading.read_text())
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wait(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text())
    put(site, run, bundles[2])
    assert version(site) == 3


def wait(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def is_blocked(pid: int) -> bool:
    """Tell whether a process waits for a lock."""
    locks = map(str.split, Path("/proc/locks").read_text().splitlines())
    return any(words[1] == "->" and words[5] == str(pid) for words in locks)


def test_a_command_that_waits_says_for_whom(site: "Site", run: "Call", bundles: list[Path], open_folder: Path) -> None:
    """While another command holds the lock, `deploy` names its process; forked processes do not hold it."""
    put(site, run, bundles[0])
    go, done = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            with Store(site.etc).locked():
                if not os.fork():
                    time.sleep(60)
                os.write(done, b"locked")
                time.sleep(60)
        finally:
            os._exit(99)
    os.read(go, 6)
    program = "from slurmhooks.cli import main; main()"
    command = [sys.executable, "-c", program, "deploy", str(bundles[2]), "--sysconfdir", str(site.etc)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        said = waiting.stderr.readline()
        assert f"slurmhooks.d/.lock: waiting for process {pid} on " in said
        wait(lambda: waiting.poll() is not None or is_blocked(waiting.pid))
        assert waiting.poll() is None
        os.kill(pid, signal.SIGKILL)
        assert waiting.wait(60) == 0
    os.waitpid(pid, 0)
    assert version(site) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: other users need root")
@pytest.mark.parametrize("existing", [False, True], ids=["new", "of an earlier release"])
def test_no_other_user_can_hold_the_lock(site: "Site", run: "Call", bundles: list[Path], existing: bool) -> None:
    """Users cannot even open the lock, so that no user keeps `deploy`, or the Prolog of a configless node, waiting."""
    lock = site.etc / "slurmhooks.d" / ".lock"
    if existing:
        lock.parent.mkdir()
        lock.touch(0o644)
    put(site, run, bundles[0])
    assert lock.parent.stat().st_mode & 0o777 == 0o755
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError):
            lock.open()
    finally:
        os.seteuid(0)


PROLOG = """\
#!{python}
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tests.unit.cli.test_deploy_killed import Steps
from slurmhooks.cli import main
step = int(Path({step!r}).read_text())
if step:
    Steps(step, {events!r})
main([*sys.argv[1:], "--plugin-dir", {plugins!r}])
"""


@pytest.mark.moved
@EVENTS
def test_a_prolog_that_is_killed(
    site: "Site", run: "Call", bundles: list[Path], open_folder: Path, events: set[str] | None
) -> None:
    """Wherever `deploy` is killed in a Prolog, the next Prolog ends with 0 only when the bundle is in force."""
    (site.etc / "slurmhooks.toml").unlink()
    script, program, number = open_folder / "prolog", open_folder / "bin" / "slurmhooks", open_folder / "step"
    (open_folder / "elsewhere").mkdir()
    shutil.copytree(site.etc, open_folder / "elsewhere" / "etc")
    elsewhere = ("--sysconfdir", open_folder / "elsewhere" / "etc", "--plugin-dir", site.plugins)
    run.passed("deploy", open_folder / "2.tar", *elsewhere, "--prolog", script)
    program.parent.mkdir()
    root = str(Path(__file__).parents[3])
    text = PROLOG.format(python=sys.executable, tests=root, step=str(number), events=events, plugins=str(site.plugins))
    program.write_text(text)
    program.chmod(0o755)
    environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "SLURM_CONF": str(site.etc / "slurm.conf")}
    start = site.etc.parent / "start"
    shutil.copytree(site.etc, start, symlinks=True)
    step, killed = 0, True
    while killed:
        shutil.rmtree(site.etc)
        shutil.copytree(start, site.etc, symlinks=True)
        number.write_text(str(step := step + 1))
        killed = subprocess.run([script], env=environment, check=False, stderr=subprocess.DEVNULL).returncode != 0
        assert version(site) in (None, 2)
        number.write_text("0")
        subprocess.run([script], env=environment, check=True)
        assert version(site) == 2
        assert Store(site.etc).unfinished is None
        assert "up to date" in site.check().output
    assert step > 3


@pytest.mark.soak
def test_killed_at_random(site: "Site", run: "Call", bundles: list[Path]) -> None:
    """Whichever of 200 commands are killed, each time one version as a whole is in force, and none waits for ever."""
    put(site, run, *bundles)
    versions = {1, 2, 3, None}
    chance = random.Random(1)
    program = "from slurmhooks.cli import main; main()"
    for _ in range(200):
        command = chance.choice([["rollback"], *(["deploy", str(bundle)] for bundle in bundles)])
        words = [sys.executable, "-c", program, *command, "--sysconfdir", str(site.etc)]
        started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            started.wait(chance.uniform(0.1, 1.5))
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        assert version(site) in versions
    put(site, run, bundles[0])
    assert version(site) == 1
