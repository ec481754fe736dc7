# SPDX-License-Identifier: GPL-2.0-or-later
"""Which notices a user reads, and what is remembered after a restart."""

import os
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.log import log
from slurmhooks.slurmctld import notices
from slurmhooks.worker import read_notices
from tests.unit.slurmctld.site_of_rules import Worker

NOTICE = '[[rule]]\nrule = "notice"\nmessage = "hello"\n'
WARNS = '[rules.modes."site:warns"]\nmode = "warn"\n'
HOOKS = """
@hook.job_submit
def warns(job):
    raise Reject("no")

@hook.job_submit
def tells(job):
    log.user("own")
"""
WARNING = "Warning: a rule that is not in force yet would refuse this request: no"


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[read_notices.ReadNotices]:
    """The memory that a supervisor gives to its workers."""
    memory = read_notices.ReadNotices()
    monkeypatch.setattr(read_notices, "shared", memory)
    before = log.attach(None, None)
    yield memory
    log.attach(*before)


def test_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each user reads a notice or a warning once a day, from whichever worker; messages of handlers always."""
    workers = [Worker(tmp_path, WARNS + NOTICE, HOOKS) for _ in range(2)]
    assert workers[0].submit() == ["hello", WARNING, "own"]
    assert workers[0].submit() == ["own"]
    assert workers[1].submit() == ["own"]
    assert workers[1].submit(sender=1001) == ["hello", WARNING, "own"]
    later = time.time() + 86400
    monkeypatch.setattr(time, "time", lambda: later)
    assert workers[0].submit() == ["hello", WARNING, "own"]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock to a number of minutes after noon today."""
    noon = time.mktime((*time.localtime()[:3], 12, 0, 0, 0, 0, -1))
    return lambda minutes: monkeypatch.setattr(time, "time", lambda: noon + 60 * minutes)


def test_an_answer_that_perhaps_nobody_reads(tmp_path: Path, at: Callable[[float], None]) -> None:
    """Three answers to sbatch, at least ten minutes apart, have a notice; a loop of submissions has it once."""
    worker = Worker(tmp_path, NOTICE)
    shown = []
    for minute in range(120):
        at(minute)
        if worker.submit():
            shown.append(minute)
    assert len(shown) == notices.ANSWERS
    assert min(late - early for early, late in pairwise(shown)) * 60 >= notices.APART


def test_a_person_reads_what_a_program_has_dropped(tmp_path: Path, at: Callable[[float], None]) -> None:
    """Whatever programs have submitted by sbatch, srun shows a notice once; then it counts as read everywhere."""
    worker = Worker(tmp_path, NOTICE)
    for minute in (0, 30, 60, 90):
        at(minute)
        worker.submit()
    assert [worker.submit(script=None) for _ in range(2)] == [["hello"], []]
    assert [worker.submit(1001, script=None), worker.submit(1001)] == [["hello"], []]


def test_always(tmp_path: Path) -> None:
    """With notices = "always", users read a notice each time, also with --parsable."""
    worker = Worker(tmp_path, '[rules]\nnotices = "always"\n' + NOTICE)
    assert [worker.submit(submit_line="sbatch --parsable x") for _ in range(3)] == [["hello"]] * 3


@pytest.mark.parametrize(
    ("fields", "quiet"),
    [
        ({"submit_line": "sbatch --parsable run.sh", "argv": ["/home/run.sh"]}, True),
        ({"submit_line": "sbatch --pars --wrap x"}, True),
        ({"submit_line": "sbatch --parsabl -n 1 run.sh a b", "argv": ["run.sh", "a", "b"]}, True),
        ({"script": "#!/bin/sh\n#SBATCH -n1 --parsable # short\n"}, True),
        ({"submit_line": "sbatch run.sh --parsable", "argv": ["run.sh", "--parsable"]}, False),
        ({"submit_line": "sbatch --partition=a run.sh", "argv": ["run.sh"]}, False),
        ({"script": "#!/bin/sh\n#SBATCH -n1 # --parsable\n# SBATCH --parsable\n"}, False),
        ({"submit_line": "--parsable"}, False),
        ({}, False),
    ],
)
def test_parsable(fields: dict[str, Any], quiet: bool, tmp_path: Path) -> None:
    """A command with --parsable shows no notice, which does not count as read; other words are no option."""
    worker = Worker(tmp_path, NOTICE)
    assert (worker.submit(**fields) == []) is quiet
    assert worker.submit(script=None) == ["hello"], "no answer to sbatch counts for srun"


def test_refusals_are_no_notices(tmp_path: Path) -> None:
    """A refusal is read each time, also with --parsable, and so is what the rules fill in."""
    rules = '[[rule]]\nrule = "default_time"\nvalue = 5\n[[rule]]\nrule = "require_qos"\nmessage = "qos"\n'
    worker = Worker(tmp_path, rules)
    text = ["no --time given: limited to 00:05:00", "qos (rule:require_qos)"]
    assert [worker.submit(submit_line="sbatch --parsable x")[-1] for _ in range(2)] == text[1:] * 2


def test_a_worker_that_ends_has_told_nobody(tmp_path: Path) -> None:
    """A notice does not count as read if a handler behind it ends the worker: the user never got that answer."""
    worker = Worker(tmp_path, NOTICE, "import os\n@hook.job_submit\ndef ends(job):\n    if job.name: os._exit(0)\n")
    pid = os.fork()
    if not pid:
        worker.submit(name="x")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [worker.submit() for _ in range(2)] == [["hello"], []]
