# SPDX-License-Identifier: GPL-2.0-or-later
"""jobcomp/python in a stand-in for slurmctld: all records reach the handlers, whichever processes are killed."""

import json
import os
import random
import shutil
import subprocess
import textwrap
import time
from collections.abc import Callable
from typing import Any

import pytest

from slurmhooks.jobcomp.spool import Spool
from tests.native.hosting import Host, Run
from tests.native.workers import below, wait_for
from tests.sets import put_in_force

pytestmark = pytest.mark.slow

OPEN = """
    conf state_save_location $dir
    conf plugindir /nowhere:$dir/plugins
    open js $jobcomp
"""
WRITES = """
    import json, os

    def note(name, event):
        line = json.dumps([name, event.name, event.id, event.attempt]) + "\\n"
        fd = os.open(FOLDER + "/delivered", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, line.encode())
        os.close(fd)
"""


class Site:
    """A site with jobcomp/python, and the records that its handlers have got."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.folder = host.folder
        self.spool = host.folder / "slurmhooks"
        self.plugins = host.folder / "plugins"
        self.plugins.mkdir()
        shutil.copy(host.build.plugins / "slurmhooks" / "other" / "jobcomp_other.so", self.plugins)
        self.settings()

    def settings(self, **settings: object) -> None:
        """Write ``[jobcomp]``."""
        values = {"timeout": 60.0, "backoff": 0.01, "backoff_limit": 0.02} | settings
        lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
        self.host.config("\n".join(["[hooks]", 'paths = ["hooks.py"]', "[jobcomp]", *lines]))

    def hooks(self, text: str) -> None:
        """Write the hook file; ``note(NAME, event)`` tells the test that a handler has a record."""
        start = f"from slurmhooks import Reject, hook, log\nFOLDER = {str(self.folder)!r}\n"
        (self.folder / "hooks.py").write_text(start + textwrap.dedent(WRITES) + textwrap.dedent(text))

    def script(self, text: str) -> str:
        """Return a script that opens the plugin first."""
        return textwrap.dedent(OPEN) + textwrap.dedent(text)

    @property
    def delivered(self) -> list[tuple[str, str, str, int]]:
        """Handler, event, id of the record and attempt of each delivery."""
        try:
            return [tuple(json.loads(line)) for line in (self.folder / "delivered").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def left(self) -> list[str]:
        """Return the ids of the records that wait for their delivery."""
        if not self.spool.is_dir():
            return []
        spool = Spool(self.spool)
        spool.refresh()
        return [record.frame.id for record in spool.records()]

    def letters(self) -> list[dict[str, Any]]:
        """Return the dead letters."""
        return Spool(self.spool).letters()

    def start(self, text: str, output: Any = subprocess.PIPE, log: Any = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """Start a host that runs a script with the plugin open."""
        script = self.host.script(self.script(text))
        put_in_force(self.folder)
        return subprocess.Popen(
            [self.host.build.host, "-f", script],
            env={"PATH": os.defpath, "SLURM_CONF": str(self.folder / "slurm.conf"), **self.host.sanitizers()},
            stdout=output,
            stderr=log,
            start_new_session=True,
        )

    def run(self, text: str, until: Callable[[], object], progress: Callable[[], object] = lambda: None) -> Run:
        """Run a script, and close the plugin once a condition is met; ``progress`` is as for :func:`wait_for`."""
        stop = self.folder / "stop"
        stop.unlink(missing_ok=True)
        with (self.folder / "log").open("wb") as log:
            process = self.start(f"{text}\nawait $dir/stop\nclose js", output=log, log=log)
            try:
                wait_for(until, (self.folder / "log").read_text(), progress)
                stop.touch()
                process.wait(60)
            finally:
                process.kill()
                process.wait()
        return self.host.read(process.returncode, (self.folder / "log").read_bytes(), quiet=False)


@pytest.fixture
def site(host: Host) -> Site:
    """A site on the stand-in host."""
    return Site(host)


ONE = """
    @hook.job_end
    def one(event):
        note("one", event)
"""


def test_every_record_reaches_each_handler(each_host: Host) -> None:
    """Each handler gets each record once, in the order of the handlers; nothing is left behind, not even in memory."""
    site = Site(each_host)
    site.hooks(
        """
        @hook.job_end(order=60)
        def two(event):
            note("two", event)

        @hook.job_end
        def one(event):
            note("one", event)
        """
    )
    run = site.run("job_end js\njob_end js\njob_end js", lambda: len(site.delivered) == 6 and not site.left())
    assert [result.rc for result in run.of("job_end")] == [0, 0, 0], run.log
    assert [name for name, *_ in site.delivered] == ["one", "two"] * 3
    ids = [record for _, _, record, _ in site.delivered]
    assert ids[::2] == ids[1::2] == sorted(set(ids))
    assert {(event, attempt) for _, event, _, attempt in site.delivered} == {("job_end", 1)}
    assert "ended with exit code" not in run, run.log


def test_records_wait_for_handlers_that_load(site: Site) -> None:
    """While hook files do not load, records stay in the spool.

    They are delivered once the files load, even by the next slurmctld.
    """
    (site.folder / "hooks.py").write_text("import nothing_of_that_name\n")
    run = site.run("job_end js\njob_end js", lambda: len(site.left()) == 2)
    assert [result.rc for result in run.of("job_end")] == [0, 0]
    site.hooks(ONE)
    site.run("", lambda: not site.left())
    assert len(site.delivered) == 2


def test_a_record_needs_the_sources(site: Site) -> None:
    """Without Slurm's private headers a handler that takes the record does not load, and the log says why."""
    site.hooks("@hook.job_end\ndef one(record, event):\n    pass\n")
    run = site.run("await_worker\njob_end js", lambda: len(site.left()) == 1)
    assert "takes record: this build has only Slurm's public headers" in run


def test_job_start_needs_a_release_that_tells_it(site: Site) -> None:
    """A handler of job_start does not load on releases that never call it: it would silently do nothing."""
    if site.host.build.slurm >= 0x190500:
        pytest.skip("this release tells of the start of jobs")
    site.hooks("@hook.job_start\ndef one(event):\n    pass\n")
    run = site.run("await_worker", lambda: True)
    assert "Slurm calls job_start since 25.05" in run


def test_failures_are_tried_again(site: Site) -> None:
    """After an exception, a crash or a missed deadline, delivery is repeated for that handler only.

    Others do not wait.
    """
    site.settings(timeout=2.0, tries=9)
    site.hooks(
        """
        import signal, time

        @hook.job_end
        def shaky(event):
            note("shaky", event)
            if event.attempt == 1:
                raise ConnectionError("no network")
            if event.attempt == 2:
                os.kill(os.getpid(), signal.SIGSEGV)
            if event.attempt == 3:
                time.sleep(60)

        @hook.job_end(order=60)
        def steady(event):
            note("steady", event)
        """
    )
    run = site.run("job_end js", lambda: len(site.delivered) == 5 and not site.left())
    assert [(name, attempt) for name, _, _, attempt in site.delivered] == [
        ("shaky", 1),
        ("steady", 1),
        ("shaky", 2),
        ("shaky", 3),
        ("shaky", 4),
    ]
    assert "ConnectionError: no network" in run
    assert "missed the deadline" in run


def test_one_that_always_crashes_holds_up_nobody(site: Site) -> None:
    """A handler that ends each worker costs the others only one attempt, and the record becomes a dead letter."""
    site.settings(tries=3)
    site.hooks(
        """
        import signal

        @hook.job_end
        def fatal(event):
            os.kill(os.getpid(), signal.SIGKILL)

        @hook.job_end(order=60)
        def steady(event):
            note("steady", event)
        """
    )
    run = site.run("job_end js\njob_end js", lambda: len(site.letters()) == 2 and not site.left())
    assert [name for name, *_ in site.delivered] == ["steady", "steady"]
    assert "is a dead letter now" in run
    for letter in site.letters():
        assert letter["tries"] == 3
        assert "ended before it answered" in letter["reasons"]["hooks:fatal"]


def test_a_refused_record_is_a_dead_letter_at_once(site: Site) -> None:
    """After Reject there is no other attempt; the other handlers get the record, and a redelivery leaves them out."""
    site.hooks(
        """
        @hook.job_end
        def picky(event):
            note("picky", event)
            if not os.path.exists(FOLDER + "/mended"):
                raise Reject("not of this site")

        @hook.job_end(order=60)
        def steady(event):
            note("steady", event)
        """
    )
    run = site.run("job_end js", lambda: site.letters() and not site.left())
    assert "refuses it: not of this site" in run
    (letter,) = site.letters()
    assert letter["reasons"] == {"hooks:picky": "not of this site"}
    Spool(site.spool).redeliver(letter["id"])
    (site.folder / "mended").write_text("")
    site.run("", lambda: not site.left())
    assert [name for name, *_ in site.delivered] == ["picky", "steady", "picky"]
    assert {record for _, _, record, _ in site.delivered} == {letter["id"]}
    assert site.letters() == []


def test_a_lenient_handler_is_not_tried_again(site: Site) -> None:
    """If a handler with on_error="ignore" fails, this is logged, and the record counts as delivered."""
    site.hooks(
        """
        import signal

        @hook.job_end(on_error="ignore")
        def careless(event):
            note("careless", event)
            raise ValueError("whatever")

        @hook.job_end(on_error="ignore", order=55)
        def fatal(event):
            note("fatal", event)
            os.kill(os.getpid(), signal.SIGKILL)

        @hook.job_end(order=60)
        def steady(event):
            note("steady", event)
        """
    )
    run = site.run("job_end js", lambda: len(site.delivered) > 2 and not site.left())
    assert "ValueError: whatever" in run
    assert [name for name, *_ in site.delivered] == ["careless", "fatal", "steady"]


def test_calls_are_passed_on(site: Site) -> None:
    """The plugin of [jobcomp] next gets init, set_location, every record, get_jobs and fini.

    Slurm gets its return codes.
    """
    site.settings(next="other")
    site.hooks(ONE)
    run = site.host.run(site.script("set_location js\njob_end js\nget_jobs js\nclose js"), quiet=False)
    said = [text for text in run.lines("INFO") if text.startswith("other: ")]
    assert said[:2] == ["other: init", "other: set_location"]
    assert said[2].startswith("other: job_end 1")
    assert said[3:] == ["other: fini"]
    assert run.one("job_end").rc != 0
    assert run.one("get_jobs")["same"] == 1


@pytest.mark.parametrize(
    ("name", "reason"), [("absent", "the file does not exist in PluginDir"), ("python", "it is not a jobcomp plugin")]
)
def test_a_next_plugin_that_cannot_be_used_is_named(site: Site, name: str, reason: str) -> None:
    """One clear error says which plugin cannot be opened and why; records are still kept, and slurmctld starts."""
    site.settings(next=name)
    site.hooks("")
    (site.plugins / "jobcomp_other.so").rename(site.plugins / "jobcomp_python.so")
    run = site.host.run(site.script("job_end js\nget_jobs js\nclose js"))
    assert [line for line in run.lines("ERROR") if reason in line and f'next = "{name}"' in line], run.log
    assert run.one("open").rc == run.one("job_end").rc == 0
    assert run.one("get_jobs")["null"] == 1


def test_others_may_not_write_the_next_plugin(site: Site) -> None:
    """A library that somebody else could have written is not opened."""
    site.settings(next="other")
    site.hooks("")
    (site.plugins / "jobcomp_other.so").chmod(0o666)
    run = site.host.run(site.script("job_end js\nclose js"))
    assert [line for line in run.lines("ERROR") if "is writable by everybody" in line], run.log
    assert not [line for line in run.lines() if line.startswith("other:")]


def test_a_wrong_configuration_loses_nothing(site: Site) -> None:
    """With a file that is not TOML slurmctld starts, says what is wrong, and records wait for its repair."""
    site.hooks(ONE)
    site.host.config("[jobcomp]\nspool = 3\n")
    run = site.host.run(site.script("job_end js\nclose js"))
    assert "jobcomp.spool: must be" in run
    assert run.one("open").rc == run.one("job_end").rc == 0
    assert len(site.left()) == 1


class Killed:
    """A host that runs until it is killed, and acknowledges each record."""

    def __init__(self, site: Site) -> None:
        self._output = site.folder / "output"
        with self._output.open("wb") as output, (site.folder / "log").open("ab") as log:
            self.process = site.start("until $dir/never\njob_end js\nend", output, log)

    @property
    def acknowledged(self) -> int:
        """How many records the host has kept."""
        return self._output.read_text().count("job_end rc=0\n")

    def has_begun(self) -> bool:
        """Tell whether the host has kept a record, or has ended."""
        return self.acknowledged > 0 or self.process.poll() is not None

    def kill(self) -> int:
        """Kill the host; return how many records it had acknowledged."""
        self.process.kill()
        self.process.wait()
        return self.acknowledged


@pytest.mark.parametrize("most", [12, pytest.param(1000, marks=pytest.mark.soak)])
def test_kills_lose_nothing(site: Site, most: int) -> None:
    """If supervisor, generation, worker or slurmctld is killed at any moment, acknowledged records are delivered."""
    rng = random.Random(most)
    site.settings(tries=1000, workers=2)
    site.hooks(ONE)
    acknowledged = kills = 0
    while kills < most:
        host = Killed(site)
        wait_for(host.has_begun, "a record")
        assert host.process.poll() is None, (site.folder / "log").read_text()[-2000:]
        for _ in range(rng.randrange(12)):
            time.sleep(rng.random() * 0.1)  # any moment: nothing is asserted about it
            family = [each for each in below(host.process.pid) if each.state != "Z"]
            if family:
                rng.choice(family).kill()
                kills += 1
        acknowledged += host.kill()
        kills += 1
    site.run("", lambda: not site.left(), lambda: len(site.delivered))
    distinct = {record for _, _, record, _ in site.delivered}
    assert site.letters() == Spool(site.spool).lost() == []
    assert 0 < acknowledged <= len(distinct), f"{acknowledged - len(distinct)} lost after {kills} kills"
