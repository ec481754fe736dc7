# SPDX-License-Identifier: GPL-2.0-or-later
"""The stand-in for sbatch."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.handlers import loader
from slurmhooks.job_submit.constants import MailType, OpenMode, TaskDist
from slurmhooks.testing import FakeJob, sbatch
from slurmhooks.testing.command_lines import REQUIRED, takes
from slurmhooks.testing.option_names import ALIASES, NAMES, OF_COMPONENT
from slurmhooks.testing.sbatch import options
from slurmhooks.testing.sbatch.derive import ALWAYS
from slurmhooks.testing.sbatch.values import moment, words_of
from slurmhooks.values import UNLIMITED

OWN = ("SLURM_PRIO_PROCESS", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_UMASK", "SLURM_EXPORT_ENV")
"""Variables that sbatch adds to each job, or for --export."""


def without_own(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment without what sbatch adds."""
    return {name: value for name, value in environment.items() if name not in (*OWN, "SLURM_GET_USER_ENV")}


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
        (["-N1,4-6,8-15:4"], {"min_nodes": 1, "max_nodes": 12, "job_size_str": "1,4-6,8,12"}),
        (["-Hkv"], {"priority": 0, "kill_on_node_fail": 0}),
        (["--no-kill=off"], {}),
        (["--mem", "1500K"], {"min_mem_per_node": 2}),
        (["--mem-per-cpu=2G"], {"min_mem_per_cpu": 2048}),
        (["--mem-per-gpu=1G"], {"mem_per_tres": "gres/gpu:1024"}),
        (
            ["--gres=gpu:a100:2,shard:1", "--gpus-per-node=1"],
            {"tres_per_node": "gres/gpu:1,gres/gpu:a100:2,gres/shard:1"},
        ),
        (["--gres=none"], {}),
        (["-G", "4", "--gpus=a100:2,v100:1"], {"tres_per_job": "gres/gpu:a100:2,gres/gpu:v100:1"}),
        (["--gpus-per-task=2"], {"tres_per_task": "gres/gpu=2", "tres_bind": "gres/gpu:per_task:2"}),
        (["-B", "2:*:1"], {"sockets_per_node": 2, "threads_per_core": 1}),
        (
            ["--cpu-freq=low-high:Perf"],
            {"cpu_freq_min": 0x80000001, "cpu_freq_max": 0x80000003, "cpu_freq_gov": 0x82000000},
        ),
        (["--mem-bind=verbose,map_mem:0,1"], {"mem_bind_type": 9, "mem_bind": "0,1"}),
        (["--hint=memory_bound"], {"cores_per_socket": 1, "threads_per_core": 1}),
        (["--kill-on-invalid-dep=yes", "--spread-job"], {"bitflags": 0x101}),
        (["-t0", "--priority=top"], {"time_limit": UNLIMITED, "priority": 0xFFFFFFFD}),
        (["--exclusive"], {"shared": 0}),
        (["--exclusive=user"], {"shared": 2}),
        (["-s"], {"shared": 1}),
        (["--tasks-per-node=8"], {"ntasks_per_node": 8}),
        (["--gpu-bind=verbose,single:2"], {"tres_bind": "gres/gpu:verbose,single:2"}),
        (["--cluster=a,b"], {"clusters": "a,b"}),
        (["--ntasks-per-tres=2", "--ntasks-per-gpu=2"], {"ntasks_per_tres": 2}),
        (["--mem-update=10@20"], {"mem_update_margin": 10, "mem_update_delay": 20}),
        (["-L", "a", "--resources=b"], {"licenses": "a,b"}),
        (["--container-type=oci"], {"container_type": "oci"}),
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
        *(["--uid=no such user"], ["--bbf=/none"], ["-N", "4:8"], ["-N", "8-4,1"], ["-n", "0"], ["-B", "1:2:3:4"]),
        *(
            ["--hint=fast"],
            ["--gpu-bind=junk"],
            ["--gpu-bind=single:0"],
            ["--mem-update=10"],
            ["--cpu-freq=low-high"],
            ["--gres-flags=x"],
            ["--mem-bind=x"],
            ["--ti=1"],
        ),
        *(["--bbf=/dev/zero"], ["--bbf=\0"], ["--uid=\0"], ["--nodes=,"], ["--nodes=:"], ["--uid=²"], ["--signal=²"]),
        # Inputs that int() and mktime() would misread are refused: other digits, too many digits, years out of range.
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
    for name, take in options.OPTIONS.items():
        fields: dict[str, Any] = {}
        for text in (
            "" if takes("sbatch", name) != REQUIRED else "1",
            *arguments.values(),
            "none",
            "append",
            "9",
            "block",
            "root",
            "closest",
            "10@20",
        ):
            try:
                take(fields, text)
                break
            except (sbatch.SbatchError, ValueError):
                continue
        FakeJob(**{field: value for field, value in fields.items() if not field.startswith("_")})
        assert (
            fields
            or take is options.nothing
            or name in ("gres", "bbf", "no-kill", "export-file", "nodefile", "hint", "kill-on-invalid-dep")
        ), name


NOT_TRIED = {
    *("autocomplete", "help", "usage", "version"),  # sbatch prints something and ends
    *("power", "runtime"),  # of one release, which it had no effect in, and of one that is not out
}


def test_every_option_is_known() -> None:
    """All options of sbatch are known, as are their other names."""
    assert {*NAMES["sbatch"]} - NOT_TRIED == {*options.OPTIONS, *ALIASES}
    assert {*OF_COMPONENT} <= {*options.OPTIONS}


@pytest.mark.parametrize("options_of_lines", [[], ["hetjob"], ["packjob"]])
def test_components_of_the_command_line(options_of_lines: list[str]) -> None:
    """As in sbatch, components inherit from the one before what is not a resource."""
    lines = ["#SBATCH -t5 --comment=x", *(f"#SBATCH {word}" for word in options_of_lines), "#SBATCH --mem=50"]
    text = "\n".join(["#!/bin/sh", *lines, "true\n"])
    words = ["-n2", ":", "-n4", "--comment=y", ":", "--mem=7"]
    assert sbatch.components(text, words) == 3
    names = ("num_tasks", "comment", "time_limit", "min_mem_per_node", "het_job_offset")
    found = [sbatch.submission("a.sh", text, words, [], component=number) for number in range(3)]
    assert [[fields.get(name) for name in names] for fields in found] == [
        [2, "x", 5, 7 if options_of_lines else 50, 0],
        [4, "y", 5, 50, 1],
        [None, "y", 5, 7, 2],
    ]
    alone = [sbatch.submission("a.sh", text, ["-n2"], [], component=number) for number in range(2)]
    if options_of_lines:
        assert [fields["num_tasks"] for fields in alone] == [2, 2]


SPANK = """
mode = hook.spank.option("gpu-mode", "MODE", usage="")
flag = hook.spank.option("my-flag", usage="")
level = hook.spank.option("level", "N", usage="", optional=True)
"""


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        (["--gpu-m=a", "--my-flag", "--level"], {}, {"gpu_mode": "a", "my_flag": "(null)", "level": "(null)"}),
        (["--gpu-mode", "a", "--level=3"], {}, {"gpu_mode": "a", "level": "3"}),
        (["--level="], {}, {"level": ""}),
        ([], {"gpu_mode": "x"}, {"gpu_mode": "x"}),
        (["--gpu-mode=a", "--export=NONE"], {"gpu_mode": "x"}, {"gpu_mode": "a"}),
        ([], {}, {}),
    ],
)
def test_options_of_spank(
    hooks: Callable[[str], Path], words: list[str], environment: dict[str, str], expected: dict[str, str]
) -> None:
    """An option is in the three variables in which sbatch puts it."""
    known = loader.load([loader.Source(path=str(hooks(SPANK)))]).options
    name = "_SLURM_SPANK_OPTION_python_{}".format
    fields = sbatch.submission(
        "a.sh",
        "#!/bin/sh\n",
        words,
        [],
        options=known,
        environment={f"SLURM_SPANK_{name(key)}": text for key, text in environment.items()},
    )
    assert fields.get("spank_job_env", {}) == {name(key): text for key, text in expected.items()}
    assert without_own(fields["environment"]) == {
        **{name(key): "" if text == "(null)" else text for key, text in expected.items()},
        **{f"SLURM_SPANK_{name(key)}": text for key, text in expected.items()},
    }
    for wrong in (["--gpu"], ["--gpu-mode"], ["--my-flag=x"]):
        with pytest.raises(sbatch.SbatchError, match=r"ambiguous|needs an argument|takes no argument"):
            sbatch.submission("a.sh", "#!/bin/sh\n", wrong, [], options=known)


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
    "text",
    ["echo", "#!/bin/sh\n#SBATCH --comment='open\n", f"#!\n#SBATCH --comment={'x' * 16384}", "#!\n#SBATCH -w n[1-\n"],
)
def test_wrong_scripts(text: str) -> None:
    """A script without an interpreter, or with an open quote, is refused."""
    with pytest.raises(sbatch.SbatchError):
        sbatch.submission("job.sh", text, [], [])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"min_cpus": 1}),
        (
            ["-n4", "-c2"],
            {"num_tasks": 4, "cpus_per_task": 2, "min_cpus": 8, "pn_min_cpus": 2, "tres_per_task": "cpu=2"},
        ),
        (["-wn[1-3,1]"], {"req_nodes": "n[1-3]", "min_nodes": 3, "min_cpus": 3}),
        (["-N4", "-n2"], {"num_tasks": 2, "min_nodes": 2, "max_nodes": 2, "min_cpus": 2}),
        (
            ["-G2", "--ntasks-per-gpu=3"],
            {"tres_per_job": "gres/gpu:2", "ntasks_per_tres": 3, "num_tasks": 6, "min_cpus": 1},
        ),
        (["-n5", "--ntasks-per-node=2"], {"num_tasks": 5, "ntasks_per_node": 2, "min_nodes": 3, "min_cpus": 5}),
        (["-n4", "-N2", "-O"], {"num_tasks": 4, "min_nodes": 2, "max_nodes": 2, "overcommit": 1, "min_cpus": 2}),
    ],
)
def test_what_follows_from_several_options(words: list[str], expected: dict[str, Any]) -> None:
    """CPUs and nodes are counted as sbatch counts them."""
    fields = sbatch.submission("job.sh", "#!/bin/sh\n", words, [])
    own = {"name", "script", "argv", "work_dir", "environment", "std_in", "submit_line", *ALWAYS}
    assert {name: value for name, value in fields.items() if name not in own} == expected


def test_only_line_feeds_end_a_line() -> None:
    """Characters that only Python treats as line ends are part of an option, as in sbatch."""
    assert sbatch.script_options("#!/bin/sh\n#SBATCH --comment=a\u2028c\n#SBATCH -n2\r\n") == [
        ["--comment=a\u2028c", "-n2"]
    ]


def test_words() -> None:
    """Words are split as sbatch splits them, which is not quite as a shell does."""
    assert words_of("""-n 4 --comment=a"b c"\\ d 'it"s' # don't""") == ["-n", "4", "--comment=ab c d", 'it"s']
    assert words_of("-J a#b") == ["-J", "a"]


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
        ("6.15", (2030, 6, 15, 0, 0, 0)),
        ("now+1week", (2030, 6, 22, 13, 30, 0)),
        ("now-30", (2030, 6, 15, 13, 29, 30)),
        ("2031-02-03T04:05", (2031, 2, 3, 4, 5, 0)),
    ],
)
def test_moments(text: str, expected: tuple[int, ...]) -> None:
    """Dates and times of day are read in each notation of Slurm; a time that has passed is tomorrow's."""
    assert time.localtime(moment(text, NOW))[:6] == expected


def test_export() -> None:
    """--export chooses among the variables of sbatch."""
    here = {"HOME": "/root", "SLURM_CONF": "x", "SITE": "here"}

    def exported(*words: str) -> dict[str, str]:
        fields = sbatch.submission("job.sh", "#!/bin/sh\n", words, [], environment=here)
        return without_own(fields["environment"])

    assert exported() == exported("--export=ALL") == here
    assert exported("--export=NIL") == exported("--export=none") == {"SLURM_CONF": "x"}
    assert exported("--export=HOME,A=1") == {"SLURM_CONF": "x", "HOME": "/root", "A": "1"}
    assert exported("--export=ALL,SITE=there") == {**here, "SITE": "there"}


def test_files_that_options_name(tmp_path: Path) -> None:
    """Names of nodes, variables and burst buffer directives come from files."""
    (tmp_path / "nodes").write_text("n10,n9\nn9\n")
    (tmp_path / "variables").write_text("A=1\0B=2")
    (tmp_path / "buffers").write_text("#BB x\n")
    words = [f"-F{tmp_path}/nodes", f"--export-file={tmp_path}/variables", f"--bbf={tmp_path}/buffers"]
    fields = sbatch.submission("job.sh", "#!/bin/sh\ntrue\n", words, [])
    assert (fields["req_nodes"], fields["min_nodes"]) == ("n[9-10]", 2)
    assert fields["environment"] == {"A": "1", "B": "2"}
    assert fields["script"] == "#!/bin/sh\n#BB x\ntrue\n"


def test_components() -> None:
    """Each component of a heterogeneous job has its own options."""
    each = [sbatch.submission("job.sh", SCRIPT, [], [], component=number) for number in (0, 1)]
    assert [fields["time_limit"] for fields in each] == [10, 20]
    assert [fields["het_job_offset"] for fields in each] == [0, 1]


def test_long_lists_of_tres_are_refused() -> None:
    """The number of components is limited, because each is searched for the others."""
    with pytest.raises(sbatch.SbatchError, match="more than 65536 characters"):
        sbatch.apply([f"--tres-per-task={'gres/gpu:1,' * 6000}"], {}, [])


def test_variables_give_options() -> None:
    """Variables win over the script, and options of the command line over variables; a false flag takes one back."""
    script = "#!/bin/sh\n#SBATCH --account=script --comment=script --overcommit\n"
    here = {"SBATCH_ACCOUNT": "variable", "SBATCH_TIMELIMIT": "7", "SBATCH_OVERCOMMIT": "no", "SBATCH_QOS": "variable"}
    fields = sbatch.submission("job.sh", script, ["--qos=line"], [], environment=here)
    names = ("account", "comment", "time_limit", "qos", "overcommit")
    assert [fields.get(name) for name in names] == ["variable", "script", 7, "line", None]


def test_wrapped_command() -> None:
    """--wrap makes a script without arguments."""
    assert fields_of("--wrap=hostname") == {"name": "wrap", "script": sbatch.WRAPPED.format("hostname")}


@pytest.mark.parametrize(
    ("line", "script", "variables", "expected"),
    [
        ([], "--mem=100", {"SBATCH_MEM_PER_NODE": "200"}, (200, None)),
        (["--mem=300"], "--mem=100", {"SBATCH_MEM_PER_NODE": "200"}, (300, None)),
        ([], "--mem-per-cpu=100", {"SBATCH_MEM_PER_NODE": "200"}, (None, 100)),
        (["--mem-per-cpu=50"], "-n 1", {"SBATCH_MEM_PER_NODE": "200"}, (None, 50)),
    ],
)
def test_memory_of_variables(
    line: list[str], script: str, variables: dict[str, str], expected: tuple[int | None, int | None]
) -> None:
    """A variable overrides the same option of the script, and counts no more if another option gives the memory."""
    fields = sbatch.submission("a.sh", f"#!/bin/sh\n#SBATCH {script}\n", line, [], environment=variables)
    assert (fields.get("min_mem_per_node"), fields.get("min_mem_per_cpu")) == expected
