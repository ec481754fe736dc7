# SPDX-License-Identifier: GPL-2.0-or-later
"""Power calls reach their handlers, whatever is killed, and in order for each node."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from slurmhooks.log import log
from slurmhooks.processes import deliverer, memory
from slurmhooks.worker.polling import POLL
from tests.cluster.turns import moved, moved_from
from tests.unit.power.sites import Site
from tests.unit.worker.supervisors import Supervisor

pytestmark = pytest.mark.slow


def test_a_call_reaches_its_handler_with_nodes_and_jobs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler gets the host list, rows of scontrol and the jobs of Slurm's file, which is gone by then."""
    file = site.folder / "resume.json"
    file.write_text(json.dumps({"jobs": [{"job_id": 7, "nodes_resume": "c1"}]}))
    monkeypatch.setenv("SLURM_RESUME_FILE", str(file))
    site.hooks(pause=0.1)
    site.call("resume", "c1,c2")
    file.unlink()
    site.wait(site.empty)
    assert site.done() == ["resume c1,c2 ('big', 'gpu') [7]"]


def test_the_kernel_kills_handlers_before_slurmctld(site: Site) -> None:
    """If the machine runs out of memory, their process goes first, also if slurmctld is protected."""
    (site.folder / "hooks.py").write_text(
        f"import shutil\nfrom slurmhooks import hook\n@hook.power.resume\ndef resume(nodes):\n"
        f"    shutil.copyfile('/proc/self/oom_score_adj', '{site.folder}/notes')\n"
    )
    site.call("resume", "c1")
    site.wait(site.empty)
    assert site.notes() == [memory.SCORE]


def test_a_reboot_has_the_features_that_slurm_wants(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """RebootProgram, and ResumeProgram for nodes that are up, get features, and the job in the environment."""
    site.call("reboot", "c1,c2")
    site.call("reboot", "c1,c2", "flat,hemi")
    monkeypatch.setenv("SLURM_JOB_ID", "9")
    site.call("resume", "c1", "flat")
    site.wait(site.empty)
    assert site.done() == ["reboot c1,c2 None", "reboot c1,c2 flat,hemi", "resume c1 ('big', 'gpu') [9] flat"]


@pytest.mark.parametrize("arguments", [(), ("flat",)])
def test_a_reboot_on_a_node_is_an_error(site: Site, arguments: tuple[str, ...]) -> None:
    """slurmd, which is not SlurmUser, runs the program without nodes: nothing is kept, and its log says why."""
    with (site.folder / "slurm.conf").open("a") as conf:
        conf.write(f"SlurmUser={os.geteuid() + 1}\n")
    site.call("reboot", *arguments, code=2)
    assert not site.spool.parent.exists()
    site.spool.mkdir(parents=True)


def test_a_node_that_slurmctld_does_not_show_reaches_its_handler(site: Site) -> None:
    """Nodes of a cloud that are off are hidden on 22.05, and a node may be removed: both have no features."""
    site.call("resume", "hidden")
    site.call("resume", "hidden,c1")
    site.wait(site.empty)
    assert site.done() == ["resume hidden () []", "resume hidden,c1 () []"]
    assert len(site.notes()) == 4, "each handler ran once"


def test_a_suspend_never_overtakes_a_resume_of_its_node(site: Site) -> None:
    """Calls that share a node are delivered in the order in which Slurm made them."""
    monkey = [("resume", "c1,c2"), ("suspend", "c2,c3"), ("resume", "c3"), ("suspend", "c1"), ("suspend", "c3")]
    for hook, nodes in monkey:
        site.call(hook, nodes)
    site.wait(site.empty)
    assert [" ".join(line.split()[:2]) for line in site.done()] == [" ".join(call) for call in monkey]


@pytest.mark.parametrize(
    ("hook", "nodes", "attempts", "reason"),
    [
        ("resume", "lost,c1", 1, "no capacity in this region"),
        ("reboot", "lost,c1", 0, "no power"),
        ("resume", "bug", 2, r"slurmhooks: power.resume handler hooks:resume failed \(error [0-9a-f]+\).*"),
        ("resume", "gone", 2, "its process ended with exit code 3"),
    ],
)
def test_a_call_that_is_given_up_sets_its_nodes_down(
    site: Site, hook: str, nodes: str, attempts: int, reason: str
) -> None:
    """After a refusal, or the last failed attempt, the nodes are DOWN with the reason; the call is a dead letter."""
    with (site.folder / "slurmhooks.toml").open("a") as config:
        config.write("tries = 2\n")
    site.call(hook, nodes)
    site.wait(site.empty)
    asked = (site.folder / "asked").read_text()
    assert re.findall("update .*", asked) == re.findall(f"update NodeName={nodes} State=DOWN Reason={reason}", asked)
    assert asked.count("State=DOWN") == 1
    assert len(site.notes()) == attempts
    assert len(list((site.spool / "dead").glob("*.spool"))) == 1


def test_nodes_are_given_back(site: Site) -> None:
    """A handler whose cloud is full gives all nodes or one back, which is no failure: there is no dead letter."""
    text = "    nodes.give_back('no\\nroom') if 'all' in nodes else nodes['c1'].give_back('full')\n"
    path = site.folder / "hooks.py"
    path.write_text(path.read_text().replace('    if "lost" in nodes:\n', f'{text}    if "lost" in nodes:\n', 1))
    site.call("resume", "all,c2")
    site.call("resume", "c1,c2")
    site.wait(site.empty)
    asked = [line for line in (site.folder / "asked").read_text().splitlines() if line.startswith("update")]
    states = ("State=DOWN Reason={}", "State=POWER_DOWN", "State=RESUME")
    whole = [f"update NodeName=all,c2 {state.format('no room')}" for state in states]
    assert asked == whole + [f"update NodeName=c1 {state.format('full')}" for state in states]
    assert not (site.spool / "dead").exists()


def test_a_dead_letter_is_shown_and_delivered_again(site: Site) -> None:
    """`slurmhooks spool --power` has a call that was given up, and can have it delivered again."""
    command = ["spool", "--sysconfdir", str(site.folder), "--power"]
    assert "power program" in CliRunner().invoke(main, command).output
    site.call("resume", "lost")
    site.wait(site.empty)
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 1
    assert "power.resume" in shown.output
    log = (site.spool / "log").read_text()
    assert re.search(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] error: .*no capacity", log, re.MULTILINE)
    assert CliRunner().invoke(main, [*command, "redeliver"]).exit_code == 0
    site.start()
    site.wait(site.empty)
    assert (site.folder / "asked").read_text().count("State=DOWN") == 2


CHATTY = """
import subprocess
from slurmhooks import hook

@hook.power.resume
def resume(nodes):
    # An agent that goes on while nothing is delivered.
    program = "import time; [print('x' * 999) or time.sleep(0.0001) for _ in range({lines})]; open('{done}', 'w')"
    subprocess.Popen(["python3", "-c", program])
    print("y" * {size})
    subprocess.run(["python3", "-c", "print('z' * {size})"])
"""


@pytest.mark.moved
def test_the_log_stays_small(site: Site) -> None:
    """Whatever handlers and programs print, also later, the two files of the log are bounded."""
    lines, done = 4 * deliverer.MAX_LOG // 1000, site.folder / "agent_ended"
    (site.folder / "hooks.py").write_text(CHATTY.format(size=2 * deliverer.MAX_LOG, lines=lines, done=done))
    site.call("resume", "c1")
    site.wait(site.empty)
    site.wait(done.exists)
    deliverer.Watchdog("power").check()
    log = site.spool / deliverer.LOG
    assert log.stat().st_size <= deliverer.MAX_LOG
    assert 0 < log.with_name("log.1").stat().st_size <= deliverer.MAX_LOG


def test_a_node_is_set_down_as_soon_as_slurmctld_answers(site: Site) -> None:
    """While slurmctld does not answer, the call waits in the spool."""
    works = (site.folder / "scontrol").read_text()
    with (site.folder / "slurmhooks.toml").open("a") as config:
        config.write("backoff_limit = 0.1\n")
    site.scontrol(works + '[ "$1" != update ]\n')
    site.call("resume", "lost")
    site.wait(lambda: (site.folder / "asked").exists() and (site.folder / "asked").read_text().count("DOWN") > 1)
    assert not site.empty()
    site.scontrol(works)
    site.wait(site.empty)
    assert len(list((site.spool / "dead").glob("*.spool"))) == 1


@pytest.mark.parametrize("seed", [0, *moved(1, 2)])
def test_kills_lose_nothing(site: Site, seed: int) -> None:
    """Whatever is killed with SIGKILL, and whenever, each call is delivered, in order for its node."""
    chance = random.Random(seed)
    site.hooks(pause=0.05)
    for number in range(4):
        site.call("resume" if number % 2 == 0 else "suspend", "c1")
        time.sleep(chance.random() * 0.5)
        for pid in site.processes():
            if chance.random() < 0.7:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
    site.wait(lambda: not site.processes() or site.empty())
    site.start()
    site.wait(site.empty)
    kept = [line.split()[0] for line in site.done()]
    # A handler that was killed after its work runs again; otherwise nothing is doubled.
    runs = [word for place, word in enumerate(kept) if place == 0 or kept[place - 1] != word]
    assert runs == ["resume", "suspend"] * 2


def test_a_supervisor_starts_the_delivery_again(site: Site) -> None:
    """After a kill of every process the next slurmctld delivers; it also replaces a delivery that is killed alone."""
    hold = site.folder / "hold"
    hold.touch()
    site.call("resume", "c1")
    site.wait(site.notes)
    site.kill()
    supervisor = Supervisor(site.folder)
    supervisor.start("from slurmhooks.processes import deliverer; deliverer.INTERVAL = 0.05;")
    for attempt in (2, 3):
        site.wait(lambda attempt=attempt: len(site.notes()) == attempt)  # type: ignore[misc]
        if attempt == 2:
            site.kill()
    supervisor.end()
    assert site.processes(), "the delivery ends with slurmctld"
    hold.unlink()
    site.wait(site.empty)
    assert [line.split()[0] for line in site.notes()] == ["begin"] * 3 + ["resume"]


def test_a_process_that_a_handler_has_forked_keeps_no_lock(site: Site) -> None:
    """After a kill of the delivery, such a process, as a ProcessPoolExecutor has, does not keep others from it."""
    (site.folder / "hold").touch()
    site.call("resume", "pool")
    site.wait(lambda: len(site.notes()) == 2)
    forked = int(site.notes()[1].removeprefix("forked "))
    site.kill(forked)
    (site.folder / "hold").unlink()
    site.call("suspend", "c1")
    try:
        site.wait(lambda: "suspend c1" in site.notes() and site.empty())
    finally:
        site.kill()


def test_a_forked_child_that_comes_back_runs_no_other_handler(site: Site) -> None:
    """If a handler forks and its child returns, the handlers after it run once, and the log says what to do."""
    more = "@hook.power.resume\ndef forks(): os.fork()\n@hook.power.resume\ndef second(): note('second')\n"
    with (site.folder / "hooks.py").open("a") as file:
        file.write(more)
    site.call("resume", "c1")
    site.wait(site.empty)
    assert site.notes().count("second") == 1
    site.wait(lambda: "a handler has forked and its child came back" in (site.spool / deliverer.LOG).read_text())


def test_a_supervisor_leaves_a_site_without_power_hooks_alone(site: Site) -> None:
    """Without a spool, or without calls in it, nothing is started and nothing is made."""
    for there in (False, True):
        if there:
            site.spool.mkdir(parents=True)
        watchdog = deliverer.Watchdog("power")
        watchdog.check()
        assert watchdog.pid == 0
        assert site.spool.exists() == there


@pytest.mark.moved
def test_a_supervisor_says_once_that_it_cannot_look(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spool that cannot be read is named in the log once, and again after it could be read."""
    lines: list[str] = []
    monkeypatch.setattr(deliverer, "INTERVAL", 0.0)
    monkeypatch.setattr(log, "_sink", lambda _, text: lines.append(text))
    watchdog = deliverer.Watchdog("power")
    site.spool.parent.mkdir()
    for count in (1, 2):
        site.spool.touch()
        for _ in range(3):
            watchdog.check()
        assert len(lines) == count
        assert f"'{site.spool}'" in lines[-1]
        site.spool.unlink()
        watchdog.check()


@pytest.mark.moved
def test_a_site_without_power_hooks_pays_nothing(site: Site) -> None:
    """The look of a supervisor imports nothing for power calls, reads no hook file, and has no process."""
    code = (
        "import sys; from slurmhooks.processes import deliverer\n"
        "watchdog = deliverer.Watchdog('power'); watchdog.check(); assert watchdog.pid == 0\n"
        "print(sorted(name for name in sys.modules if name.startswith('slurmhooks.power') or name == 'subprocess'))"
    )
    done = subprocess.run((sys.executable, "-I", "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert not site.spool.exists()
    site.spool.mkdir(parents=True)


@pytest.mark.moved
def test_metrics_count_what_became_of_calls(site: Site) -> None:
    """The file for node_exporter has each delivery, failed attempt and call that was given up, and what waits."""
    with (site.folder / "slurmhooks.toml").open("a") as config:
        config.write(f'tries = 2\n[metrics]\ntextfiles = "{site.folder}"\nreaders = "group"\n')
    site.hooks()
    for nodes in ("c1", "bug", "lost", "c2"):
        site.call("resume", nodes)
    site.call("suspend", "c1")
    site.wait(site.empty)
    file = site.folder / "slurmhooks_power.prom"
    assert file.stat().st_mode & 0o777 == 0o640
    shown = dict(line.rsplit(" ", 1) for line in file.read_text().splitlines() if not line.startswith("#"))
    calls = {
        re.sub(r'.*hook="power.(\w+)",outcome="(\w+)".*', r"\1 \2", name): int(count)
        for name, count in shown.items()
        if name.startswith("slurmhooks_power_calls_total")
    }
    given_up = {"resume failed": 2, "resume given_up": 2}
    assert calls == {"resume delivered": 2, "suspend delivered": 1, **given_up}
    assert (shown["slurmhooks_power_waiting"], shown["slurmhooks_power_dead"]) == ("0", "2")


TIMER = """
import signal, time
from slurmhooks import hook

@hook.power.resume
def impatient(event):
    signal.setitimer(signal.ITIMER_REAL, 0.05)

@hook.power.resume
def patient(event):
    time.sleep(0.3)
    with open("{folder}/notes", "a") as notes:
        notes.write(f"patient {{event.attempt}}\\n")
"""


def test_a_timer_that_a_handler_leaves_ends_no_other_handler(site: Site) -> None:
    """It is ended with the handler, and the log names that."""
    (site.folder / "hooks.py").write_text(TIMER.format(folder=site.folder))
    site.call("resume", "c1")
    site.wait(site.empty)
    assert site.notes() == ["patient 1"]
    assert "power.resume handler hooks:impatient has left a timer" in (site.spool / "log").read_text()


@pytest.mark.parametrize(
    ("fault", "said"),
    moved_from(
        1,
        [
            ("raise OSError('no cloud')", "no cloud"),
            (
                "import os; os.kill(os.getpid(), 9)",
                "was killed by SIGKILL; the last file that was begun is {folder}/hooks.py",
            ),
        ],
    ),
    ids=["raises", "dies"],
)
def test_hooks_that_do_not_load_are_loaded_again_when_they_change(site: Site, fault: str, said: str) -> None:
    """Until then, they are loaded once a minute at most; the log has the error once, and when calls are delivered."""
    loads = site.folder / "loads"
    broken = f"open('{loads}', 'a').write('x')\n{fault}\n"
    (site.folder / "hooks.py").write_text(broken)
    site.call("resume", "c1")
    site.wait(lambda: loads.exists() and "no power call is delivered" in (site.spool / "log").read_text())
    site.call("suspend", "c1")
    site.wait(lambda: len(list(site.spool.glob("*.spool"))) == 2)
    time.sleep(2 * POLL)
    assert loads.read_text() == "x"
    site.hooks()
    site.wait(site.empty)
    log = (site.spool / "log").read_text()
    assert log.count("no power call is delivered") == 1
    assert said.format(folder=site.folder) in log
    assert log.count("power calls are delivered again") == 1


@pytest.mark.moved
def test_hooks_are_not_loaded_while_no_call_is_due(site: Site) -> None:
    """A call that waits for its next attempt loads nothing; a new call is delivered meanwhile."""
    config = site.folder / "slurmhooks.toml"
    config.write_text(config.read_text().replace("0.05", "8.0"))
    loads = site.folder / "loads"
    hooks = site.folder / "hooks.py"
    hooks.write_text(f"open('{loads}', 'a').write('x')\n{hooks.read_text()}")
    site.call("resume", "bug")
    site.wait(lambda: "raised KeyError" in (site.spool / "log").read_text())
    time.sleep(3 * POLL)
    assert len(loads.read_text()) <= 2
    site.call("resume", "c1")
    site.wait(lambda: site.done())
    site.hooks()
    for segment in site.spool.glob("*.spool"):
        segment.unlink()


def test_a_killed_program_keeps_a_call_or_not(site: Site) -> None:
    """A program that is killed has kept the call as a whole, or not at all; the next call is delivered in any case."""
    chance = random.Random(7)
    command = (sys.executable, "-m", "slurmhooks.handover.program", "power.resume")
    kept = []
    for number in range(6):
        program = subprocess.Popen((*command, f"k{number}"))
        try:
            program.wait(chance.random() * 0.4)
            kept.append(f"k{number}")
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
    site.call("resume", "c1")
    site.wait(site.empty)
    done = [line.split()[1] for line in site.done()]
    assert len(done) == len(set(done))
    assert {*kept, "c1"} <= set(done)
