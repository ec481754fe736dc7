# SPDX-License-Identifier: GPL-2.0-or-later
"""What the stand-in for sbatch submits: of a script, a command line and variables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.handlers import loader
from slurmhooks.testing import FakeJob
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.sbatch.derive import ALWAYS

OWN = ("SLURM_PRIO_PROCESS", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_UMASK", "SLURM_EXPORT_ENV")
"""Variables that sbatch adds to each job, or for --export."""


def without_own(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment without what sbatch adds."""
    return {name: value for name, value in environment.items() if name not in (*OWN, "SLURM_GET_USER_ENV")}


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
            {"tres_per_job": "gres/gpu:2", "ntasks_per_tres": 3, "min_cpus": 1},
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
    assert exported("--container-type=oci") == {**here, "SLURM_CONTAINER_TYPE": "oci"}


def test_files_that_options_name(tmp_path: Path) -> None:
    """Variables and burst buffer directives come from files."""
    (tmp_path / "variables").write_text("A=1\0B=2")
    (tmp_path / "buffers").write_text("#BB x\n")
    words = [f"--export-file={tmp_path}/variables", f"--bbf={tmp_path}/buffers"]
    for export, variables in (("NONE", {"A": "1", "B": "2"}), ("ALL", {})):  # sbatch reads them, and drops them
        given = [*words, f"--export={export}"]
        fields = sbatch.submission("job.sh", "#!/bin/sh\ntrue\n", given, [], environment={})
        others = {name: value for name, value in fields["environment"].items() if not name.startswith("SLURM_")}
        assert others == variables
    assert fields["script"] == "#!/bin/sh\n#BB x\ntrue\n"


def test_components() -> None:
    """Each component of a heterogeneous job has its own options."""
    each = [sbatch.submission("job.sh", SCRIPT, [], [], component=number) for number in (0, 1)]
    assert [fields["time_limit"] for fields in each] == [10, 20]
    assert [fields["het_job_offset"] for fields in each] == [0, 1]


def test_a_component_without_options_of_its_own() -> None:
    """Components of the script that the command line does not have get the options of its last component."""
    text = "#!/bin/sh\n#SBATCH hetjob\n#SBATCH hetjob -n 9\ntrue\n"
    each = [sbatch.submission("a.sh", text, ["-n2", ":", "-n4"], [], component=number) for number in range(3)]
    assert [fields["num_tasks"] for fields in each] == [2, 4, 4]


def test_nodes_of_other_components() -> None:
    """slurmctld excludes the nodes that another component names."""
    components: list[dict[str, Any]] = [{"req_nodes": "n1"}, {"exc_nodes": "n9"}, {"req_nodes": "n2"}]
    sbatch.exclude_nodes(components)
    assert [fields["exc_nodes"] for fields in components] == ["n2", "n9,n1,n2", "n1"]


def test_options_of_spank_in_components(hooks: Callable[[str], Path]) -> None:
    """A component gets those of the ones before, not those of later ones, which sbatch has not read by then."""
    options = loader.load([loader.Source(path=str(hooks(SPANK)))]).options
    words = ["-n1", ":", "--my-flag", ":", "-n2"]
    each = [sbatch.submission("a.sh", SCRIPT, words, [], component=number, options=options) for number in range(3)]
    given = ["_SLURM_SPANK_OPTION_python_my_flag"]
    assert [list(fields.get("spank_job_env", {})) for fields in each] == [[], given, given]


def test_a_wrapped_text_has_no_options() -> None:
    """sbatch reads no options in the script that it makes itself."""
    for text in ("#SBATCH -n 3", "#PBS -N other", "#SBATCH hetjob"):
        script = sbatch.WRAPPED.format(text)
        assert sbatch.components(script, [f"--wrap={text}"]) == 1
        fields = sbatch.submission(None, script, [f"--wrap={text}"], [])
        assert (fields["name"], fields.get("num_tasks")) == ("wrap", None)


def test_variables_give_options() -> None:
    """Variables win over the script, and options of the command line over variables; a false flag takes one back."""
    script = "#!/bin/sh\n#SBATCH --account=script --comment=script --overcommit\n"
    here = {"SBATCH_ACCOUNT": "variable", "SBATCH_TIMELIMIT": "7", "SBATCH_OVERCOMMIT": "no", "SBATCH_QOS": "variable"}
    fields = sbatch.submission("job.sh", script, ["--qos=line"], [], environment=here)
    names = ("account", "comment", "time_limit", "qos", "overcommit")
    assert [fields.get(name) for name in names] == ["variable", "script", 7, "line", None]
    for text, expected in (("", 1), ("Yes", 1), (" 2", 1), ("2 ", None), ("0", None), ("true", None)):
        fields = sbatch.submission("job.sh", "#!/bin/sh\n", [], [], environment={"SBATCH_OVERCOMMIT": text})
        assert fields.get("overcommit") == expected, text


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
