# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs of accounting become a recording: what is known can be replayed, and nothing that is unknown passes a rule."""

import errno
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.job_submit.model import Job
from slurmhooks.recording.file import create
from slurmhooks.rules import catalogue, describe
from slurmhooks.workshop.accounting import recording
from slurmhooks.workshop.accounting.recording import Counts, write
from slurmhooks.workshop.accounting.saved import Saved
from slurmhooks.workshop.recorded import Contents
from slurmhooks.workshop.replay.answers import NotRecordedError
from slurmhooks.workshop.replay.fixture import compare, replay
from tests.unit.workshop.accounting.outputs import output

pytestmark = pytest.mark.slow

SCRIPT = "#!/bin/sh\n#SBATCH --time=30\n#SBATCH -J 'my job'\n"
RULE = """
from slurmhooks import Reject, hook

@hook.job_submit
def rule(job, submit_uid):
    {body}
"""


def imported(path: Path, *jobs: Mapping[str, str], assume: tuple[str, ...] = (), **texts: Any) -> Counts:
    """Make a recording of jobs."""
    saved = path.with_suffix(".saved")
    saved.write_bytes(output(jobs, **texts))
    target = create(str(path))
    source = os.open(saved, os.O_RDONLY)
    try:
        return write(target, Saved(source), frozenset(assume))
    finally:
        os.close(source)
        os.close(target)


def only(path: Path) -> Job:
    """Return the request of a recording."""
    (request,) = replay(path)
    return request.job


def rule(folder: Path, body: str) -> Path:
    """Return a hook file."""
    file = folder / "rule.py"
    file.write_text(RULE.format(body=body))
    return file


def test_a_command_line(tmp_path: Path) -> None:
    """Without a script, what the line gives is known, and what #SBATCH lines and variables may give is not."""
    path = tmp_path / "file"
    counts = imported(path, {"JobID": "7_[1-3]", "SubmitLine": "sbatch -p long -t 10 -n 4 a.sh b"})
    job = only(path)
    assert (job.partition, job.time_limit, job.num_tasks, job.user_id, job.user_name) == ("long", 10, 4, 1000, "alice")
    assert job.script is not None
    assert not job.interactive
    for name in ("account", "name", "min_nodes", "work_dir", "bitflags", "spank_job_env_size", "alloc_node", "groups"):
        with pytest.raises(NotRecordedError, match="which was not recorded"):
            getattr(job, name)
    for use in (
        lambda: "x" in job.environment,
        lambda: list(job.argv),
        lambda: len(job.script or ""),
        lambda: job.bounds.nodes,
    ):
        with pytest.raises(NotRecordedError):
            use()
    assert (counts.jobs, counts.scripts, counts.known["partition"], counts.known["account"]) == (1, 0, 1, 0)


def test_a_script(tmp_path: Path) -> None:
    """A kept script and environment give the rest: other options are certainly not given."""
    path = tmp_path / "file"
    environment = "HOME=/home/alice\nSBATCH_ACCOUNT=physics\n"
    job = {"JobID": "7", "SubmitLine": "sbatch -p long /home/alice/a.sh"}
    imported(path, job, scripts={"7": SCRIPT}, environments={"7": environment})
    found = only(path)
    assert (found.partition, found.time_limit, found.name, found.account) == ("long", 30, "my job", "physics")
    assert (found.qos, found.min_cpus, found.comment, found.script) == (None, 1, None, SCRIPT)
    assert list(found.argv) == ["/home/alice/a.sh"]
    assert dict(found.environment) == {"HOME": "/home/alice", "SBATCH_ACCOUNT": "physics"}
    with pytest.raises(NotRecordedError):
        _ = (found.std_err and found.work_dir) or found.work_dir


def test_a_wrapped_command(tmp_path: Path) -> None:
    """The script shows which words belong to --wrap."""
    path = tmp_path / "file"
    script = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\npython a.py -n 4\n"
    job = {"JobID": "7", "SubmitLine": "sbatch --wrap python a.py -n 4 -c 2", "JobName": "wrap"}
    imported(path, job, scripts={"7": script}, environments={"7": "A=1\n"})
    found = only(path)
    assert (found.num_tasks, found.cpus_per_task, found.name, found.min_cpus) == (None, 2, "wrap", 2)
    other = tmp_path / "other"
    imported(other, job)
    with pytest.raises(NotRecordedError):
        _ = only(other).num_tasks


@pytest.mark.parametrize(
    "environment", ["A=1\nfi\nSBATCH_ACCOUNT=x\n", "SBATCH_ACCOUNT=gr?n\n", "SLURM_EXPORT_ENV=NONE\n"]
)
def test_uncertain_environments(tmp_path: Path, environment: str) -> None:
    """A variable may be a line of another one's value, or lack characters, or not be passed on."""
    path = tmp_path / "file"
    imported(path, {"JobID": "7"}, scripts={"7": SCRIPT}, environments={"7": environment})
    with pytest.raises(NotRecordedError):
        _ = only(path).account


def test_other_programs(tmp_path: Path) -> None:
    """srun and salloc have no script; of jobs without a command line, as of slurmrestd, only the user is known."""
    path = tmp_path / "file"
    lines = ("srun -A physics -n 2 a.out", "salloc -t 5", "", "python submit.py -A x", "sbatch -n1 : -n2 a.sh")
    imported(path, *({"JobID": str(number), "SubmitLine": line} for number, line in enumerate(lines, 1)))
    for request in replay(path):
        job = request.job
        if request.id == "1":
            assert (job.account, job.script, job.interactive, dict(job.environment)) == ("physics", None, True, {})
            continue
        if request.id == "2":
            assert (job.time_limit, job.comment) == (5, None)
            continue
        assert job.user_id == 1000
        for name in ("account", "script", "interactive", "time_limit", "het_job_offset", "submit_line"):
            with pytest.raises(NotRecordedError):
                getattr(job, name)


def test_heterogeneous_jobs(tmp_path: Path) -> None:
    """Of a component only the user is known; of a job that may be one, unless its script shows that it is none."""
    path = tmp_path / "file"
    het = "#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH -n 2\n"
    jobs = [{"JobID": job, "SubmitLine": f"sbatch -p long {line}"} for job, line in zip(
        ("1+0", "2", "3", "4", "5", "6", "7"), ("a", "b", "b", "c", "d", "d", "e"), strict=True)]  # fmt: skip
    scripts = {"4": het, "5": "#!/bin/sh\n", "6": "#!/bin/sh\n", "7": "#!/bin/sh\n#SBATCH -n 2\nexit 0\n"}
    imported(path, *jobs, scripts=scripts)
    known = {}
    for request in replay(path):
        try:
            known[request.id] = request.job.partition
        except NotRecordedError:
            known[request.id] = None
    assert known == {"1+0": None, "2": "long", "3": None, "4": None, "5": "long", "6": "long", "7": None}


def test_nothing_of_this_machine(tmp_path: Path) -> None:
    """Files, users and clocks that a line names are those of another machine, and are not read here."""
    path = tmp_path / "file"
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    line = f"sbatch --bbf={secret} --export-file={secret} --nodefile={secret} --uid=root --begin=now -n 2 {secret}"
    imported(path, {"JobID": "7", "SubmitLine": line}, scripts={"7": f"#!/bin/sh\n#SBATCH -F {secret}\n"})
    assert b"hunter2" not in path.read_bytes()
    (request,) = replay(path)
    for name in ("burst_buffer", "req_nodes", "begin_time", "environment"):
        with pytest.raises(NotRecordedError):
            str(dict(value) if isinstance(value := getattr(request.job, name), Mapping) else value)


def test_unknown_is_never_a_pass(tmp_path: Path) -> None:
    """A rule that reads what is unknown is not compared, even if it catches everything; others are."""
    path = tmp_path / "file"
    jobs = [{"JobID": str(number), "SubmitLine": f"sbatch -t {number} a.sh"} for number in range(1, 5)]
    imported(path, *jobs)
    report = compare(path, rule(tmp_path, "if job.time_limit > 2: raise Reject('long')"))
    assert (report.refused, report.unknown, report.more_refused) == (2, 0, 2)
    assert report.rules[0].examples[0].id == "3"
    assert any("refused ones are missing" in note for note in report.notes)
    for body in (
        "if job.account is None: raise Reject('no account')",
        "try: job.account\n    except Exception: pass",
        "job.account = job.account or 'x'",
        "if job.bounds.nodes.most == 1: raise Reject('one node')",
        "if 'x' in job.environment: raise Reject('x')",
    ):
        report = compare(path, rule(tmp_path, body))
        assert (report.unknown, report.refused, report.different) == (4, 0, 0), body
        assert all("AccountingStoreFlags" in need.advice for need in report.needs), report.needs
    report = compare(path, rule(tmp_path, "job.comment = 'x'"))
    assert (report.unknown, report.fields[0].values[0].old, report.fields[0].values[0].new) == (
        0,
        "(not recorded)",
        "x",
    )


def test_another_release(tmp_path: Path) -> None:
    """Unknown members are unknown for another release, too."""
    path = tmp_path / "file"
    imported(path, {"JobID": "7", "SubmitLine": "sbatch -t 5 a.sh"}, version="22.05.8")
    (request,) = replay(path, release="26.05")
    assert request.job.time_limit == 5
    for name in ("account", "tres_per_node", "min_cpus"):
        with pytest.raises(NotRecordedError):
            getattr(request.job, name)


def test_assumptions(tmp_path: Path) -> None:
    """What a job got counts as requested only if the user says so, and the report says so, too."""
    path = tmp_path / "file"
    job = {
        "JobID": "7",
        "SubmitLine": "sbatch -J x a.sh",
        "TimelimitRaw": "60",
        "Partition": "long",
        "JobName": "other",
    }
    imported(path, job, assume=("time_limit", "partition"))
    assert (only(path).time_limit, only(path).partition) == (60, "long")
    with pytest.raises(NotRecordedError):
        _ = only(path).name
    report = compare(path, rule(tmp_path, "pass"))
    assert "assumed instead of known: partition, time_limit" in report.notes
    other = tmp_path / "other"
    imported(other, {"JobID": "7"}, assume=("variables",), scripts={"7": SCRIPT})
    assert (only(other).account, only(other).time_limit) == (None, 30)


OUTSIDE = {"charged_account", "partitions", "reservations", "the name service", "script"}
"""What rules need that accounting cannot have, or that nobody can assume."""


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What accounting with default flags knows of three jobs, without scripts and environments, as far as assumed."""
    path = tmp_path_factory.mktemp("month") / "file"
    jobs = ({"JobID": str(n), "SubmitLine": f"{line} a.sh", "TimelimitRaw": "3000"} for n, line in enumerate(LINES, 1))
    imported(path, *jobs, assume=("options", "time_limit", "partition", "account", "qos"))
    return path


LINES = ("sbatch", "sbatch -t 3000 -n 4", "sbatch -p long -A maths")


@pytest.mark.moved
@pytest.mark.parametrize("name", catalogue.RULES)
def test_each_rule_can_be_compared(month: Path, tmp_path: Path, name: str) -> None:
    """A ready-made rule needs no member of a request of sbatch that cannot be assumed at a site with default flags."""
    (tmp_path / "slurmhooks.toml").write_text(describe.example(catalogue.RULES[name]))
    report = compare(month, tmp_path / "slurmhooks.toml")
    needs = {need.what for need in report.needs}
    assert needs <= OUTSIDE
    assert report.unknown in (0, len(LINES)), needs
    assert all("--assume" not in need.advice for need in report.needs)


@pytest.mark.moved
def test_a_ceiling_of_last_month(tmp_path: Path) -> None:
    """Whoever does what the hints of replay say ends with jobs that are compared; each hint changes something."""
    jobs = [
        {"JobID": str(number), "TimelimitRaw": str(number), "Submit": str(1790000000 + number)}
        for number in range(1, 1201)
    ]
    toml = tmp_path / "slurmhooks.toml"
    toml.write_text('[[rule]]\nrule = "time_ceiling"\nlimit = "0-10"\n')
    words: list[str] = []
    while True:
        path = tmp_path / f"file{len(words)}"
        imported(path, *jobs, assume=tuple(words))
        report = compare(path, toml)
        if not report.unknown:
            break
        (word,) = {match[1] for need in report.needs if (match := re.search(r"--assume (\w+)", need.advice))}
        assert word not in words
        words.append(word)
    assert words == ["options", "time_limit", "partition"]
    assert report.refused == 600


def test_the_sender(tmp_path: Path) -> None:
    """Who may submit for others is root."""
    path = tmp_path / "file"
    imported(path, {"JobID": "7", "SubmitLine": "sbatch --uid=alice -t 5 a.sh"}, {"JobID": "8"})
    body = "if submit_uid == 0: raise Reject('root')"
    assert compare(path, rule(tmp_path, body)).refused == 1


def test_frames(tmp_path: Path) -> None:
    """The file says where it comes from, and that it is complete."""
    path = tmp_path / "file"
    imported(path, {"JobID": "7"})
    with path.open("rb") as file:
        contents = Contents(file.fileno())
        assert contents.start["source"] == "accounting"
        assert contents.start["slurm"] == "24.11.5"
        assert contents.end is not None
        assert contents.users == {1000: {"id": 1000, "name": "alice"}}


def test_processes_write_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several processes make the same recording; one makes it where several cannot be, as without /dev/shm."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(recording, "PART", 2)
    jobs = [{"JobID": str(number), "UID": str(1000 + number % 3), "User": f"u{number % 3}"} for number in range(1, 8)]
    found = []
    for processors in (1, 2, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, count=processors: range(count))
        if processors == 3:
            monkeypatch.setattr("_multiprocessing.SemLock", refuse)
        counts = imported(tmp_path / "file", *jobs)
        with (tmp_path / "file").open("rb") as file:
            contents = Contents(file.fileno())
            requests = [request for offset in contents.offsets for request in contents.requests(offset)]
            found.append((counts, contents.users, requests))
        (tmp_path / "file").unlink()
    assert found[0] == found[1] == found[2]
