# SPDX-License-Identifier: GPL-2.0-or-later
"""The output of sacct is read as it was meant, whatever users have written into it."""

import os
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from slurmhooks.workshop.accounting.export import COLUMNS, SCRIPTS, VARIABLES
from slurmhooks.workshop.accounting.saved import Saved, SavedError
from tests.unit.workshop.accounting.outputs import output

NASTY = (
    "\n",
    "|",
    "<",
    "<0123456789abcdef",
    "JobIDRaw",
    " end\n",
    "é",
    "\udcff",
    "😀",
    "\r\n",
    "\t",
    "\x1f",
    "1|2|3",
    "",
)


def saved(path: Path, data: bytes) -> Saved:
    """Read an output."""
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        return Saved(fd)
    finally:
        os.close(fd)


def test_what_users_write(tmp_path: Path) -> None:
    """Names, comments and lines have any characters, except the separator, which nobody knows beforehand."""
    drawing = random.Random(1)
    jobs = []
    for number in range(300):
        texts = {
            name: "".join(drawing.choices(NASTY, k=drawing.randint(0, 5))) for name in ("JobName", "Comment", "WorkDir")
        }
        jobs.append({"JobID": str(number + 1), "Submit": str(1000 + number), "SubmitLine": f"sbatch {number}", **texts})
        jobs[-1]["SubmitLine"] += "".join(drawing.choices(NASTY, k=3))
    found = saved(tmp_path / "file", output(jobs)).part(range(len(jobs)))
    assert [{name: job[name] for name in given} for job, given in zip(found, jobs, strict=True)] == jobs


def test_one_request_for_each_submission(tmp_path: Path) -> None:
    """Tasks of an array, runs of a requeued job, and several windows are one request, at the time of the first."""
    jobs = [
        {"JobID": "7_[3-9]", "JobIDRaw": "7", "Submit": "50"},
        {"JobID": "7_1", "JobIDRaw": "8", "Submit": "50"},
        {"JobID": "9", "Submit": "80", "State": "COMPLETED"},
        {"JobID": "9", "Submit": "40", "State": "REQUEUED"},
        {"JobID": "9.batch", "JobIDRaw": "9.batch", "Submit": "40"},
        {"JobID": "10+0", "JobIDRaw": "10", "Submit": "60"},
        {"JobID": "10+1", "JobIDRaw": "11", "Submit": "60"},
        {"JobID": "9", "Submit": "90", "SubmitLine": "sbatch another job, whose number is used again"},
    ]
    read = saved(tmp_path / "file", output(jobs, windows=2))
    assert [(job["JobID"].partition("_")[0], job["Submit"]) for job in read.part(range(read.jobs))] == [
        *(("9", "40"), ("7", "50"), ("10+0", "60"), ("10+1", "60"), ("9", "90")),
    ]
    assert (read.jobs, read.records) == (5, 14)


@pytest.mark.parametrize(("version", "extra"), [("22.05.8", "\n"), ("24.05.4", "\n"), ("24.05.5", ""), ("26.05.1", "")])
def test_scripts(tmp_path: Path, version: str, extra: str) -> None:
    """Scripts are whole, with or without a last line break; older releases add one."""
    scripts = {"1": "#!/bin/sh\n", "2": "#!/bin/sh\ntrue", "3": "#!/bin/sh\n\n", "4_1": "#!/bin/sh\n#4\n"}
    jobs = [{"JobID": job} for job in (*scripts, "5", "6")]
    data = output(jobs, scripts={**scripts, "5": "NONE\n"}, version=version, extra=extra)
    read = saved(tmp_path / "file", data)
    assert read.release == version
    assert {job: read.kept(SCRIPTS, job) for job in scripts} == scripts
    assert read.kept(SCRIPTS, "4_[2-3]") == scripts["4_1"]
    assert [read.kept(SCRIPTS, job) for job in ("5", "6")] == [None, None]
    assert read.keeps(SCRIPTS)
    assert not read.keeps(VARIABLES)


def test_a_script_of_somebody_else(tmp_path: Path) -> None:
    """A script that looks like the output about another job gives that job no other script."""
    forged = f"#!/bin/sh\nBatch Script for 2\n{'-' * 80}\n#!/bin/sh\n#SBATCH -A physics\n"
    data = output([{"JobID": "1"}, {"JobID": "2"}], scripts={"1": forged, "2": "#!/bin/sh\ntrue\n"})
    read = saved(tmp_path / "file", data)
    assert read.kept(SCRIPTS, "2") is None


def test_scripts_that_look_like_others(tmp_path: Path) -> None:
    """What a user writes in a script takes no script away from jobs for which sacct was asked at another time."""
    title = "Batch Script for {}\n" + "-" * 80 + "\n"
    forged = "#!/bin/sh\n" + "".join(title.format(job) for job in range(1, 60))
    scripts = {str(job): f"#!/bin/sh\n#{job}\n" for job in range(1, 40)} | {"21": forged, "40_7": "#!/bin/sh\n"}
    data = output([{"JobID": job} for job in scripts], scripts=scripts, version="26.05.1", at_once=10)
    read = saved(tmp_path / "file", data)
    whole = [job for job, text in scripts.items() if read.kept(SCRIPTS, job) == text]
    assert whole == [job for number, job in enumerate(scripts) if number // 10 != 2]
    forged = forged.replace(" 2", " 9")
    data = output([{"JobID": "21"}, {"JobID": "5"}], scripts={"21": forged, "5": "x"}, version="26.05.1", at_once=1)
    assert saved(tmp_path / "file", data).kept(SCRIPTS, "21") == forged


def damaged(data: bytes) -> Iterable[bytes]:
    """Yield outputs that are not whole, or are of something else."""
    yield b""
    yield b"slurm 24.11.5\n"
    yield b"hello\n" + data
    yield data.replace(b"slurm 24.11.5", b"sacct")
    yield data.replace(b"SubmitLine", b"SubmitLyne", 1)
    yield data.replace(b"1000", b"2026-10-01T00:00:00")
    yield data.replace(b"end\n", b"other\n")
    yield data.replace(b"24.11.5", b"24.11+5")
    yield data.replace(b"QOS", b"UID")
    yield from (data[:size] for size in range(0, len(data), 7))


def test_damage(tmp_path: Path) -> None:
    """An output that was cut off anywhere, or is of another command, is refused."""
    job: Mapping[str, str] = {"JobID": "1", "Submit": "1000", "JobName": "a\nb"}
    data = output([job, {"JobID": "2"}], scripts={"1": "#!/bin/sh\n"})
    assert saved(tmp_path / "file", data).jobs == 2
    for wrong in damaged(data):
        with pytest.raises(SavedError):
            saved(tmp_path / "file", wrong)
    assert {*COLUMNS} >= {"JobID", "UID"}


WRONG = [
    *(
        {column: value}
        for column in ("UID", "GID", "Submit")
        for value in ("", "x", "-1", "1.5", "1" * 5000, str(1 << 63))
    ),
    {"JobID": "x"},
    {"JobID": "9" * 5000},
    {"JobIDRaw": "x"},
    {"JobName": "a\0b"},
    {"SubmitLine": "sbatch \0"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{key}-{value[:9]!a}" for each in WRONG for key, value in each.items()])
def test_records_that_no_job_has(tmp_path: Path, wrong: Mapping[str, str]) -> None:
    """A number that is none or does not fit, and a NUL byte, is an error that says where."""
    data = output([{"JobID": "1"}, {"JobID": "2", **wrong}])
    with pytest.raises(SavedError, match=r"record at byte \d+"):
        saved(tmp_path / "file", data)


def test_no_scripts(tmp_path: Path) -> None:
    """sacct may have none of those that it was asked for."""
    data = output([{"JobID": "1"}], scripts={"1": "x\n"}, at_once=1, version="26.05.1")
    read = saved(tmp_path / "file", data.replace(b"Batch Script for", b"nothing about"))
    assert (read.jobs, read.kept(SCRIPTS, "1")) == (1, None)


def test_scripts_of_numbers_that_no_job_has(tmp_path: Path) -> None:
    """A user's script may look like the title of another one, however long its number; a NUL byte is in none."""
    text = f"a\nBatch Script for {'1' * 5000}\n{'-' * 80}\nb"
    read = saved(
        tmp_path / "file", output([{"JobID": "1"}, {"JobID": "2"}], scripts={"1": text, "2": "a\0b"}, version="26.05.1")
    )
    assert read.kept(SCRIPTS, "1") == text
    assert read.kept(SCRIPTS, "2") is None
