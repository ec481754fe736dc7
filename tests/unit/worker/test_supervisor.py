# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor without slurmctld; with the client in C, see tests/native/test_workers.py."""

import os
import signal
import time
from pathlib import Path

import pytest

from slurmhooks.processes import deliverer
from slurmhooks.processes.control import Message
from slurmhooks.wire.protocol import Availability, Control
from slurmhooks.worker import commands
from tests.native.workers import PATIENCE, below, wait_for
from tests.unit.worker.supervisors import GENERATION, HURRIED, Supervisor

pytestmark = pytest.mark.slow


def test_what_failed_is_tried_again(supervisor: Supervisor, tmp_path: Path) -> None:
    """A failed load is tried and reported again, even if no other set is in force."""
    repaired = tmp_path / "repaired"
    failing = f"if not os.path.exists({str(repaired)!r}): raise LoadError(['a.py:3: wrong'])"
    supervisor.put(load=failing, settings={"on_unavailable": "accept"})
    supervisor.start()
    for _ in range(3):
        assert supervisor.receive().kind == Control.UNAVAILABLE
    repaired.touch()
    while (message := supervisor.receive()).kind != Control.SERVING:
        assert message.kind in (Control.UNAVAILABLE, Control.WORKER)
    assert message.value == 2000
    supervisor.end()
    assert supervisor.errors().count("a.py:3: wrong") >= 3


def test_changed_files_that_crash_are_not_loaded_all_the_time(supervisor: Supervisor) -> None:
    """While no generation serves, there are pauses between the attempts, also after a change of the files."""
    supervisor.put(load="raise LoadError(['wrong'])")
    supervisor.start(hurried="")
    supervisor.receive(Control.UNAVAILABLE)
    supervisor.put(load="os._exit(7)")
    supervisor.receive(Control.UNAVAILABLE)
    time.sleep(1)
    assert supervisor.errors().count("ended unexpectedly") < 20


def test_a_load_that_takes_too_long(supervisor: Supervisor) -> None:
    """It is ended, and the log names the file that was being loaded."""
    begun = "from slurmhooks.handlers import loader; loader.begun('/etc/slurm/hooks.d/\\x1bslow.py')"
    supervisor.put(load=f"{begun}; time.sleep(1000)")
    supervisor.start(hurried="from slurmhooks.processes import control; control.LOAD_LIMIT = 0.5;")
    supervisor.receive(Control.UNAVAILABLE)
    named = r"; the last file that was begun is /etc/slurm/hooks.d/\x1bslow.py"
    assert f"loading the hooks took more than 0.5 s{named}" in supervisor.errors()
    assert f"the process that loads the hooks ended unexpectedly{named}" in supervisor.errors()


def test_a_process_that_a_hook_file_has_forked(supervisor: Supervisor) -> None:
    """The end of a generation is noticed even if such a process keeps its sockets open."""
    supervisor.put(load="if not os.fork():\n    time.sleep(1000)\n    os._exit(0)")
    supervisor.start()
    first = supervisor.receive(Control.SERVING)
    supervisor.kill_generation()
    assert supervisor.receive(Control.DIED).generation == first.generation
    assert supervisor.receive(Control.SERVING).generation == first.generation + 1


@pytest.mark.parametrize("point", ["burst_buffer", "mail"])
def test_logs_that_others_write_stay_small(supervisor: Supervisor, tmp_path: Path, point: str) -> None:
    """While a handler of the point runs, perhaps for a day, the supervisor keeps its log from filling the disk."""
    log = tmp_path / "slurmhooks" / point / deliverer.LOG
    log.parent.mkdir(parents=True)
    log.touch()
    os.truncate(log, deliverer.MAX_LOG + 1)
    supervisor.put()
    supervisor.start()
    wait_for(lambda: log.stat().st_size == 0, "the log is empty")


@pytest.mark.parametrize(
    ("needs", "imported"),
    [({}, ""), ({"kinds": ["cmd"]}, "rules kind")],
    ids=["plain", "rules"],
)
def test_what_rules_need_is_imported_once(
    supervisor: Supervisor, tmp_path: Path, needs: dict[str, list[str]], imported: str
) -> None:
    """Once a set serves, a later generation finds what its rules need imported, and nothing else of it."""
    seen, names = tmp_path / "seen", {"rules": "colorsys", "kind": "cmd"}
    has = " + ".join(f"({word!r} in sys.modules) * '{short} '" for short, word in names.items())
    load = f"import sys; open({str(seen)!r}, 'a').write(({has}).strip() + chr(10))"
    supervisor.put(load=load, needs=needs)
    supervisor.start()
    for version in range(3):
        supervisor.receive(Control.SERVING)
        supervisor.put(load=load, needs=needs, version=version)
    assert seen.read_text().splitlines()[:3] == ["", imported, imported]


CLAIMS = """
import builtins, time
from slurmhooks.worker.claims import Claim
while not turns.wait(0.001):
    run = int(time.monotonic() * 10)
    answer, before = turns.claim("rule", run, take_over=True)
    if answer == Claim.GRANTED:
        builtins.done.write(b"%d\\n" % run)
        turns.free()
"""


NOBODY = "\nfrom slurmhooks.processes import process\nprocess.become(65534)"


@pytest.mark.parametrize(
    "user",
    ["", pytest.param(NOBODY, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"))],
    ids=["own", "other"],
)
def test_each_run_of_a_rule_happens_once(tmp_path: Path, user: str) -> None:
    """Two supervisors with one StateSaveLocation let each run begin once, although their processes are killed.

    The processes may belong to a user who cannot use StateSaveLocation.
    """
    done, pair = tmp_path / "done", [Supervisor(tmp_path / name) for name in ("one", "two")]

    def runs() -> list[str]:
        return done.read_text().splitlines() if done.exists() else []

    try:
        for each, folder in zip(pair, (tmp_path / "one", tmp_path / "two"), strict=True):
            folder.mkdir()
            (folder / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}\n")
            each.put(load=f"import builtins\nbuiltins.done = open({str(done)!r}, 'ab', 0){user}", repeat=CLAIMS)
            each.start()
        for count in range(10, 50, 10):
            wait_for(lambda count=count: len(runs()) > count, "runs")  # type: ignore[misc]
            for each in pair:
                for rules in below(each.pid, "slurmhooks-ever"):
                    rules.kill()
    finally:
        for each in pair:
            each.end()
    assert len(runs()) == len(set(runs()))
    assert "Traceback" not in "".join(each.errors() for each in pair)


def test_modules_of_another_build_serve_nobody(supervisor: Supervisor) -> None:
    """If the package was replaced since slurmctld loaded the plugin, no hooks load, and the log says what to do."""
    supervisor.put()
    upgraded = "from slurmhooks import identity; identity.here = iter(('older', 'newer')).__next__;"
    supervisor.start(hurried=f"{HURRIED} {upgraded}")
    assert "the hooks could not be loaded" in supervisor.receive(Control.UNAVAILABLE).text
    assert (
        "(newer): build and install the plugins if that is not done yet, and restart slurmctld" in supervisor.errors()
    )
    supervisor.end()


CHANGES = {
    "a set that is tried": "",
    "files that do not load": "raise LoadError(['wrong'])",
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_in_force_decides_nothing(supervisor: Supervisor, tmp_path: Path, change: str) -> None:
    """Requests that the set in force cannot serve end as its own configuration says, whatever was read since."""
    ended = tmp_path / "ended"
    start = f"if os.path.exists({str(ended)!r}): os._exit(1)"
    supervisor.put(start=start, settings={"workers": 1}, still=True)
    supervisor.start(hurried=f"{HURRIED} from slurmhooks.processes import backoff; backoff.MOST = 0.01;")
    worker = supervisor.receive(Control.WORKER)
    supervisor.receive(Control.SERVING)
    supervisor.put(load=CHANGES[change], settings={"on_unavailable": "accept"}, still=True)
    request = commands.SERVE if CHANGES[change] else f"{commands.PREPARE}0123456789abcdef"
    (answer,) = commands.ask(request, str(tmp_path), os.getuid(), PATIENCE)
    assert bool(answer) == bool(CHANGES[change])
    ended.touch()
    supervisor.receive(Control.DIED)  # its channel was closed
    supervisor.send(Message(Control.RELEASED, worker.generation, worker.pid))
    assert supervisor.receive(Control.UNAVAILABLE).pid == Availability.REJECT


def test_a_generation_that_is_stopped(supervisor: Supervisor) -> None:
    """A worker may stop the generation that would replace it, which is then replaced itself."""
    supervisor.put()
    supervisor.start()
    first = supervisor.receive(Control.SERVING)
    (generation,) = (each for each in below(supervisor.pid, GENERATION) if each.parent == supervisor.pid)
    os.kill(generation.pid, signal.SIGSTOP)
    assert supervisor.receive(Control.SERVING).generation > first.generation


def test_a_child_that_cannot_begin(supervisor: Supervisor) -> None:
    """A forked process that fails before it loads anything ends, and does not go on as a second supervisor."""
    supervisor.put()
    fails = "worker.Supervisor._leave = lambda *_: os.stat('/no/such/file')"
    supervisor.start(hurried=f"{HURRIED} import os; from slurmhooks.worker import supervisor as worker; {fails};")
    supervisor.receive(Control.UNAVAILABLE)
    assert "the process that loads the hooks ended unexpectedly" in supervisor.errors()
    assert "no process can be started" not in supervisor.errors()


def test_modules_of_two_builds_do_not_meet(supervisor: Supervisor) -> None:
    """If the package is replaced before all modules are imported, the generation in service is the last one."""
    needs = {"kinds": ["cmd"]}
    supervisor.put(needs=needs)
    upgraded = "from slurmhooks import identity; identity.here = iter(('same', 'same', 'newer')).__next__;"
    supervisor.start(hurried=f"{HURRIED} {upgraded}")
    supervisor.receive(Control.SERVING)
    supervisor.put(needs=needs, version=2)
    wait_for(lambda: "(newer): build and install the plugins" in supervisor.errors(), "refusal")
    wait_for(lambda: "the hooks that were loaded before stay in force" in supervisor.errors(), "what stays")


@pytest.mark.parametrize("then", ["", "raise ImportError('cannot import name')"])
def test_a_later_set_imports_nothing_of_another_build(supervisor: Supervisor, then: str) -> None:
    """If what a set needs is imported from a package that was replaced, the set before it stays."""
    supervisor.put()
    upgraded = "from slurmhooks import identity; identity.here = iter(('same', 'same', 'newer')).__next__;"
    supervisor.start(hurried=f"{HURRIED} {upgraded}")
    supervisor.receive(Control.SERVING)
    supervisor.put(load=f"import slurmhooks.namespaces\n{then}")
    wait_for(lambda: "(newer): build and install the plugins" in supervisor.errors(), "refusal")
    wait_for(lambda: "the hooks that were loaded before stay in force" in supervisor.errors(), "what stays")
