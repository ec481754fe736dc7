# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of the stand-in for sbatch."""

import time
from typing import Any

import pytest

from slurmhooks.cli_filter.command_options import ALIASES, NAMES, OF_COMPONENT
from slurmhooks.job_submit.constants import MailType, OpenMode
from slurmhooks.testing import FakeJob
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.options.command_lines import REQUIRED, takes
from slurmhooks.workshop.testing.options.values import moment, words_of
from slurmhooks.workshop.testing.options.variables import NAMELESS
from slurmhooks.workshop.testing.sbatch import options, setters


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
        (["-N1,4-6"], {"min_nodes": 1, "max_nodes": 6, "job_size_str": "1,4-6"}),
        (["-N8-16:4"], {"min_nodes": 8, "max_nodes": 12, "job_size_str": "8,12"}),
        (["-vHk"], {"priority": 0, "kill_on_node_fail": 0}),
        (["--no-kill=off"], {}),
        (["--no-kill=", "--no-kill=No"], {}),
        (["--mem", "1500K"], {"min_mem_per_node": 2}),
        (["--mem-per-cpu=2G"], {"min_mem_per_cpu": 2048}),
        (["--mem-per-gpu=1G"], {"mem_per_tres": "gres/gpu:1024"}),
        (
            ["--gres=gpu:a100:2,shard:1", "--gpus-per-node=1"],
            {"tres_per_node": "gres/gpu:1,gres/gpu:a100:2,gres/shard:1"},
        ),
        (["--gres=none"], {}),
        (["-G", "4", "--gpus=a100:2,v100:1"], {"tres_per_job": "gres/gpu:a100:2,gres/gpu:v100:1"}),
        (["-G", "4", "--gpus=", "--gpus-per-socket=1,"], {"tres_per_socket": "gres/gpu:1"}),
        (["--gpus-per-task=2"], {"tres_per_task": "gres/gpu=2", "tres_bind": "gres/gpu:per_task:2"}),
        (["--acctg-freq=30,Task=5,"], {"acctg_freq": "30,Task=5,"}),
        (["--hint=Memory_Bound"], {"cores_per_socket": 1, "threads_per_core": 1}),
        (["--kill-on-invalid-dep=yes", "--spread-job"], {"bitflags": 0x101}),
        (["-t0", "--priority=top"], {"time_limit": UNLIMITED, "priority": 0xFFFFFFFD}),
        (["--exclusive"], {"shared": 0}),
        (["--exclusive=user"], {"shared": 2}),
        (["-s"], {"shared": 1}),
        (["--tasks-per-node=8"], {"ntasks_per_node": 8}),
        (["--gpu-bind=verbose,single:2"], {"tres_bind": "gres/gpu:verbose,single:2"}),
        (["--cluster=a,b"], {"clusters": "a,b"}),
        (["--ntasks-per-tres=2", "--ntasks-per-gpu=2"], {"ntasks_per_tres": 2}),
        (["-L", "a", "--resources=b"], {"licenses": "a,b"}),
        (["--container-type=oci"], {"container_type": "oci"}),
        (["--nice", "--nice=-5"], {"nice": -5}),
        (["--nice"], {"nice": 100}),
        (["--nice=1-2", "--wait-all-nodes="], {"nice": 1, "wait_all_nodes": 0}),
        (["--switches=1@unlimited"], {"req_switch": 1}),
        (["--mail-type=END,FAIL"], {"mail_type": MailType.MAIL_JOB_END | MailType.MAIL_JOB_FAIL}),
        (["--signal=B:USR1@90"], {"warn_signal": 10, "warn_time": 90, "warn_flags": 1}),
        (["--signal=9"], {"warn_signal": 9, "warn_time": 60, "warn_flags": 0}),
        (["--switches=2@10:00"], {"req_switch": 2, "wait4switch": 600}),
        (["--open-mode=append"], {"open_mode": OpenMode.OPEN_MODE_APPEND}),
        (["--open-mode=Trunk"], {"open_mode": OpenMode.OPEN_MODE_TRUNCATE}),
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
        *(["--mail-type=NEVER"], ["--signal=NOPE"], ["--begin=whenever"], ["--exclusive=me"]),
        *(["--uid=no such user"], ["--bbf=/none"], ["-N", "4:8"], ["-n", "0"]),
        *(["--hint=fast"], ["--no-kill=maybe"], ["--nice=2147483646"], ["--ti=1"]),
        *(["--bbf=/dev/zero"], ["--bbf=\0"], ["--uid=\0"], ["--nodes=:"], ["--uid=²"], ["--signal=²"]),
        # Inputs that int() and mktime() would misread are refused: other digits, too many digits, years out of range.
        *([f"{option}{'9' * 5000}"] for option in ("--ntasks=", "--nodes=1,", "--uid=", "--signal=9@")),
        *([f"{option}{'9' * 5000}"] for option in ("--begin=now+", "--switches=")),
        # Letters that re.IGNORECASE takes for those of ASCII, and names of the module signal that are no signals.
        *(["--begin=now+1\u017fecond"], ["--begin=elevense\u017f"], ["--signal=_DFL"], ["--signal=_BLOCK"]),
    ],
    ids=lambda words: words[0][:20].encode("unicode_escape").decode(),
)
def test_wrong(words: list[str]) -> None:
    """Options that sbatch refuses are refused, with the option's name."""
    with pytest.raises(sbatch.SbatchError, match=words[0].partition("=")[0]):
        fields_of(*words)


@pytest.mark.parametrize("line", ["--mem=1 --mem-per-cpu=1", "--begin=2031-01-01 --deadline=2030-01-01", "-N2-1"])
def test_options_that_do_not_fit_together(line: str) -> None:
    """What a user may confuse is refused; other combinations are left to Slurm."""
    given: dict[str, Any] = {"environment": {}, "work_dir": "/"}
    with pytest.raises(sbatch.SbatchError):
        sbatch.submission(None, "#!/bin/sh\n", line.split(), [], **given)
    for accepted in ("--gpus-per-task=1", "--gpus-per-node=2 -G3", "--exclusive=user -s", "-S1 --thread-spec=1"):
        sbatch.submission(None, "#!/bin/sh\n", accepted.split(), [], **given)


@pytest.mark.parametrize("line", ["#PBS -N name", "#BSUB -J name"])
def test_lines_of_other_batch_systems(line: str) -> None:
    """They are not read, and a note says so."""
    notes: list[str] = []
    fields = sbatch.submission("a.sh", f"#!/bin/sh\n{line}\n#SBATCH -n2\n", [], notes)
    assert (fields["name"], fields["num_tasks"]) == ("a.sh", 2)
    assert "#PBS and #BSUB lines are read on a machine with Slurm only" in notes


def test_every_option_sets_fields_that_a_job_has() -> None:
    """Every option sets existing fields to values that they accept."""
    arguments = {"time": "5", "number": "2", "mib": "3", "moment": "now"}
    for name, take in options.OPTIONS.items():
        fields: dict[str, Any] = {}
        for text in (
            "" if takes("sbatch", name) != REQUIRED else "1",
            *arguments.values(),
            "none",
            "append",
            "9",
            "root",
        ):
            try:
                take(fields, text)
                break
            except (sbatch.SbatchError, LookupError, ValueError):
                continue
        FakeJob(**{field: value for field, value in fields.items() if not field.startswith("_")})
        assert (
            fields
            or take is setters.nothing
            or name in ("gres", "bbf", "no-kill", "export-file", "hint", "kill-on-invalid-dep", "propagate")
        ), name


NOT_TRIED = {
    *("autocomplete", "help", "usage", "version"),  # sbatch prints something and ends
    "nodefile",  # a file of the machine where it is submitted
    *("power", "runtime"),  # of one release, which it had no effect in, and of one that is not out
    *("cpu-freq", "distribution", "extra-node-info", "gres-flags", "mem-bind", "mem-update"),  # not read here
}


def test_every_option_is_known() -> None:
    """All options of sbatch are known, as are their other names and those of srun and salloc about their request."""
    others = {*NAMELESS, "cpu_bind", "immediate"}
    assert {*NAMES["sbatch"], *others} - NOT_TRIED == {*options.OPTIONS, *ALIASES}
    assert {*OF_COMPONENT} - NOT_TRIED <= {*options.OPTIONS}


def test_unknown_options_are_named() -> None:
    """Options of SPANK plugins or of a newer sbatch are ignored, with a note; an unknown letter is refused."""
    fields: dict[str, Any] = {}
    notes: list[str] = []
    sbatch.apply(["--greet", "Ada", "--greet=Bob", "--hold"], fields, notes)
    assert fields == {"priority": 0}
    assert [note.partition(":")[0] for note in notes] == ["--greet=Ada", "--greet=Bob"]
    with pytest.raises(sbatch.SbatchError, match="sbatch has no option -Z"):
        sbatch.apply(["-Z7"], fields, notes)


def test_words() -> None:
    """Words are split as sbatch splits them, which is not quite as a shell does."""
    assert words_of("""-n 4 --comment=a"b c"\\ d 'it"s' # don't""") == ["-n", "4", "--comment=ab c d", 'it"s']
    assert words_of("-J a#b") == ["-J", "a"]
    assert words_of("-n 2 hetjob -c 3") == words_of('-n 2 "" -c 3') == words_of("-n 2 PackJob") == ["-n", "2"]
    assert words_of("-J hetjobs -n2") == ["-J", "hetjobs", "-n2"]
    with pytest.raises(sbatch.SbatchError, match="unexpected ':'"):
        words_of("-n2 : -n3")


NOW = time.mktime((2030, 6, 15, 13, 30, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16:00", (2030, 6, 15, 16, 0, 0)),
        ("13:30", (2030, 6, 16, 13, 30, 0)),
        ("4:05pm", (2030, 6, 15, 16, 5, 0)),
        ("12:05am", (2030, 6, 16, 0, 5, 0)),
        ("tomorrow", (2030, 6, 16, 0, 0, 0)),
        ("tomorrow-noon", (2030, 6, 16, 12, 0, 0)),
        ("noon", (2030, 6, 16, 12, 0, 0)),
        ("teatime", (2030, 6, 15, 16, 0, 0)),
        ("01/20/35", (2035, 1, 20, 0, 0, 0)),
        ("012035-16:00", (2035, 1, 20, 16, 0, 0)),
        ("6/14", (2031, 6, 14, 0, 0, 0)),
        ("6.15", (2031, 6, 15, 0, 0, 0)),
        ("now+1week", (2030, 6, 22, 13, 30, 0)),
        ("now-30", (2030, 6, 15, 13, 29, 30)),
        ("2031-02-03T04:05", (2031, 2, 3, 4, 5, 0)),
    ],
)
def test_moments(text: str, expected: tuple[int, ...]) -> None:
    """Dates and times of day are read in each notation of Slurm; a time that has passed is tomorrow's."""
    assert time.localtime(moment(text, NOW))[:6] == expected


def test_wrapped_command() -> None:
    """--wrap makes a script without arguments."""
    assert fields_of("--wrap=hostname") == {"name": "wrap", "script": sbatch.WRAPPED.format("hostname")}
