# SPDX-License-Identifier: GPL-2.0-or-later
"""The stand-in for sbatch."""

import time
from typing import Any

import pytest

from slurmhooks.job_submit.constants import MailType, OpenMode, TaskDist
from slurmhooks.testing import FakeJob, sbatch
from slurmhooks.testing.sbatch import options
from slurmhooks.values import UNLIMITED


def fields_of(*words: str) -> dict[str, Any]:
    """Return the fields that options set, all of them known."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    sbatch.apply(words, fields, notes)
    assert notes == []
    return fields


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--account=physics", "-pdebug", "-J", "a b"], {"account": "physics", "partition": "debug", "name": "a b"}),
        (["-N", "2"], {"min_nodes": 2, "max_nodes": 2}),
        (["--nodes=1k-2k"], {"min_nodes": 1024, "max_nodes": 2048}),
        (["-N1,4-8:2"], {"min_nodes": 1, "max_nodes": 8, "job_size_str": "1,4-8:2"}),
        (["-Hkv"], {"priority": 0, "kill_on_node_fail": 0}),
        (["--no-kill=off"], {}),
        (["--mem", "1500K"], {"min_mem_per_node": 2}),
        (["--mem-per-cpu=2G"], {"min_mem_per_cpu": 2048}),
        (["--mem-per-gpu=1G"], {"mem_per_tres": "gres/gpu:1024"}),
        (
            ["--gres=gpu:a100:2,shard:1", "--gpus-per-node=1"],
            {"tres_per_node": "gres/gpu:a100:2,gres/shard:1,gres/gpu:1"},
        ),
        (["--gres=none"], {}),
        (["-G", "4"], {"tres_per_job": "gres/gpu:4"}),
        (["--exclusive"], {"shared": 0}),
        (["--exclusive=user"], {"shared": 2}),
        (["-s"], {"shared": 1}),
        (["--nice", "--nice=-5"], {"nice": -5}),
        (["--nice"], {"nice": 100}),
        (["--mail-type=END,FAIL"], {"mail_type": MailType.MAIL_JOB_END | MailType.MAIL_JOB_FAIL}),
        (["--signal=B:USR1@90"], {"warn_signal": 10, "warn_time": 90, "warn_flags": 1}),
        (["--signal=9"], {"warn_signal": 9, "warn_time": 60, "warn_flags": 0}),
        (["--switches=2@10:00"], {"req_switch": 2, "wait4switch": 600}),
        (["-m", "block:cyclic,NoPack"], {"task_dist": TaskDist.SLURM_DIST_BLOCK_CYCLIC, "task_dist_flags": 1 << 22}),
        (["-m", "plane=4"], {"task_dist": TaskDist.SLURM_DIST_PLANE, "plane_size": 4}),
        (["--open-mode=append"], {"open_mode": OpenMode.OPEN_MODE_APPEND}),
        (["--uid=7", "--gid=8"], {"user_id": 7, "group_id": 8}),
        (["--begin=2030-01-31T12:00"], {"begin_time": int(time.mktime((2030, 1, 31, 12, 0, 0, 0, 0, -1)))}),
        (["--acco=x"], {"account": "x"}),
        (["--parsable", "--export=NONE", "-W"], {}),
    ],
)
def test_options(words: list[str], expected: dict[str, Any]) -> None:
    """Each option sets the fields that sbatch sets, in long, short and shortened form."""
    assert fields_of(*words) == expected


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("5", 5),
        ("5:01", 6),
        ("1:00:00", 60),
        ("1-0", 1440),
        ("1-2:30", 1590),
        ("1-2:30:30", 1591),
        ("unlimited", UNLIMITED),
    ],
)
def test_times(text: str, minutes: object) -> None:
    """Every notation of a time limit is read, and seconds are rounded up."""
    assert fields_of("-t", text) == {"time_limit": minutes}


def test_now() -> None:
    """Times may be relative."""
    begin = fields_of("--begin=now+2hours")["begin_time"]
    assert abs(begin - time.time() - 7200) < 60


@pytest.mark.parametrize(
    "words",
    [
        *(["--time=soon"], ["--mem=much"], ["-N", "x"], ["--account"], ["-A"], ["--hold=yes"], ["script"]),
        *(["--mail-type=NEVER"], ["--signal=NOPE"], ["-m", "round"], ["--begin=whenever"], ["--exclusive=me"]),
        *(["--uid=no such user"], ["--bbf=/none"], ["--bbf=/dev/zero"], ["--bbf=\0"], ["--uid=\0"]),
        # What int() and mktime() take for granted: digits, not too many, a year of this era.
        *(["--nodes=,"], ["--nodes=:"], ["--uid=²"], ["--signal=²"]),
        *([f"{option}{'9' * 5000}"] for option in ("--ntasks=", "--nodes=1,", "--uid=", "--signal=", "--signal=9@")),
        *([f"{option}{'9' * 5000}"] for option in ("--begin=now+", "--switches=", "--distribution=plane=")),
    ],
    ids=lambda words: words[0][:20].encode("unicode_escape").decode(),
)
def test_wrong(words: list[str]) -> None:
    """Options that sbatch refuses are refused, with the option's name."""
    with pytest.raises(sbatch.SbatchError, match=words[0].partition("=")[0]):
        fields_of(*words)


def test_every_option_sets_fields_that_a_job_has() -> None:
    """Every option sets existing fields to values that they accept."""
    arguments = {"time": "5", "number": "2", "mib": "3", "moment": "now"}
    for name, (_, takes, take) in options.OPTIONS.items():
        fields: dict[str, Any] = {}
        for text in (
            "" if takes != options.ARGUMENT else "1",
            *arguments.values(),
            "none",
            "append",
            "9",
            "block",
            "root",
        ):
            try:
                take(fields, text)
                break
            except (sbatch.SbatchError, ValueError):
                continue
        FakeJob(**fields)
        assert fields or take is options.nothing or name in ("gres", "bbf", "no-kill"), name


def test_unknown_options_are_named() -> None:
    """Options of SPANK plugins or of a newer sbatch are ignored, with their arguments, and noted."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    sbatch.apply(["--greet", "Ada", "--greet=Bob", "-Z7", "--hold"], fields, notes)
    assert fields == {"priority": 0}
    assert [note.partition(":")[0] for note in notes] == ["--greet=Ada", "--greet=Bob", "-Z7"]


SCRIPT = """#!/bin/bash
#SBATCH --time=10 -N 2  # a comment
#SBATCH --comment="two words" --ntasks-per-node=3
   # not this one
#SBATCH --cpus-per-task=2
#SBATCH hetjob
#SBATCH --time=20
echo
#SBATCH --hold
"""


def test_script() -> None:
    """The #SBATCH lines of the first component before the first command count; the command line overrides them."""
    notes: list[str] = []
    fields = sbatch.submission("/some/job.sh", SCRIPT, ["-t20"], notes)
    assert notes == []
    expected = {"time_limit": 20, "comment": "two words", "min_nodes": 2, "min_cpus": 12, "name": "job.sh"}
    assert {name: fields[name] for name in expected} == expected
    assert fields["argv"] == ["/some/job.sh"]
    assert "priority" not in fields
    assert FakeJob(**fields).script == SCRIPT


@pytest.mark.parametrize(
    "text", ["echo", "#!/bin/sh\n#SBATCH --comment='open\n", f"#!\n#SBATCH --comment={'x' * 16384}"]
)
def test_wrong_scripts(text: str) -> None:
    """A script without an interpreter, with an open quote or with a very long line of options is refused."""
    with pytest.raises(sbatch.SbatchError):
        sbatch.submission("job.sh", text, [], [])


def test_only_line_feeds_end_a_line() -> None:
    """What Python also takes for the end of a line is part of an option, as in sbatch."""
    assert sbatch.script_options("#!/bin/sh\n#SBATCH --comment=a\vb\u2028c\n#SBATCH -n2\r\n") == [
        "--comment=a\vb\u2028c",
        "-n2",
    ]


def test_lists_of_options_end() -> None:
    """Options that add to one list add only so much to it: each would copy all before it."""
    with pytest.raises(sbatch.SbatchError, match=r"--gpus: more than 65536 characters"):
        sbatch.apply(["--gpus=1"] * 10000, {}, [])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"min_cpus": 1}),
        (["-n4", "-c2"], {"num_tasks": 4, "cpus_per_task": 2, "min_cpus": 8}),
        (["-n5", "--ntasks-per-node=2"], {"num_tasks": 5, "ntasks_per_node": 2, "min_nodes": 3, "min_cpus": 5}),
        (["-n4", "-N2", "-O"], {"num_tasks": 4, "min_nodes": 2, "max_nodes": 2, "overcommit": 1, "min_cpus": 2}),
    ],
)
def test_what_follows_from_several_options(words: list[str], expected: dict[str, Any]) -> None:
    """CPUs and nodes are counted as sbatch counts them."""
    fields = sbatch.submission("job.sh", "#!/bin/sh\n", words, [])
    own = {"name", "script", "argv", "work_dir", "environment"}
    assert {name: value for name, value in fields.items() if name not in own} == expected
