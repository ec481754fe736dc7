# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of srun, sbatch and salloc: notations, values in each program, and refusals."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.spank.site import HERE, Site, site
from tests.cluster.turns import moved, moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

STAY = {
    "test_values",
    "test_given_twice",
    "test_refused",
    "test_refused_in_the_step",
    "test_without_a_manifest",
    "test_contexts",
    "test_het_job",
    "test_a_value_is_what_the_check_has_made_in_the_command",
}

ENV_FORM = "SLURM_SPANK__SLURM_SPANK_OPTION_python_"
FORGED = "_SLURM_SPANK_OPTION_python_"
COMMANDS = ("srun", "salloc", "sbatch")


@pytest.fixture(scope="module")
def options(cluster: "Cluster") -> Site:
    """A site with options of every kind, which C registers from the manifest."""
    lent = site(cluster)
    lent.hooks(options=(HERE / "options.py").read_text())
    lent.plugstack("required spank_python.so")
    return lent


def launch(lent: Site, command: str, arguments: str, program: str = "true", **env: str) -> tuple[int, str]:
    """Run a program by srun, by srun in salloc or by srun in sbatch; return exit code and output."""
    # Epilogs end after the command that made their job.
    lent.wait_until_idle()
    lent.forget_records()
    if command == "srun":
        done = lent.shell(f"cd; srun -Q {arguments} {program}", **env)
        return done.returncode, done.stdout
    if command == "salloc":
        done = lent.shell(f"cd; salloc -Q {arguments} srun -Q {program}", **env)
        return done.returncode, done.stdout
    done = lent.shell(f"cd; rm -f out; sbatch -o out {arguments} --wrap 'srun -Q {program}'", **env)
    match = re.search(r"Submitted batch job (\d+)", done.stdout)
    if match is None:
        return done.returncode, done.stdout
    state = lent.wait_for_job(int(match.group(1)))
    return int(state != "COMPLETED"), done.stdout + lent.shell("cd; cat out").stdout


def in_place(lent: Site, context: str, callback: str, **more: object) -> Any:
    """Return the values in one place, which are the same in all processes."""
    found = [record["values"] for record in lent.wait_for_records(context=context, callback=callback, **more)]
    assert all(values == found[0] for values in found), found
    return found[0]


EACH = "--opt-word=shout --opt-number=12 --opt-flag"
EACH_VALUE = {"opt-word": "SHOUT", "opt-number": 12, "opt-flag": True}


@pytest.mark.parametrize(
    ("command", "arguments", "values"),
    moved_from(
        3,
        [
            pytest.param("srun", "", {}, id="none"),
            pytest.param("srun", EACH, EACH_VALUE, id="srun"),
            pytest.param("salloc", EACH, EACH_VALUE, id="salloc"),
            pytest.param("sbatch", EACH, EACH_VALUE, id="sbatch"),
            pytest.param("srun", "--opt-maybe", {"opt-maybe": True}, id="no-argument"),
            pytest.param("srun", "--opt-maybe=x --opt-word ''", {"opt-maybe": "x", "opt-word": ""}, id="argument"),
            pytest.param("sbatch", "--opt-maybe", {"opt-maybe": True}, id="sbatch-no-argument"),
            pytest.param("srun", "--opt-word=a --opt-word=b", {"opt-word": "b"}, id="twice"),
            pytest.param(
                "srun", "--opt-word='größe, \"a\" $HOME 5%s'", {"opt-word": 'größe, "a" $HOME 5%s'}, id="any-text"
            ),
        ],
    ),
)
def test_values(options: Site, command: str, arguments: str, values: dict[str, Any]) -> None:
    """A value is the same in the command, in the step, in prolog and epilog."""
    code, output = launch(options, command, arguments)
    assert code == 0, output
    context = "local" if command == "srun" else "allocator"
    assert in_place(options, context, "init_post_opt") == values
    assert in_place(options, context, "exit") == values
    assert in_place(options, "local", "local_user_init") == values
    assert in_place(options, "remote", "task_init", step="0") == values
    assert in_place(options, "job_script", "job_prolog") == values
    assert in_place(options, "job_script", "job_epilog") == values


@pytest.mark.parametrize("command", COMMANDS)
def test_variable_then_command_line(options: Site, command: str) -> None:
    """If the variable and the command line give different values, the command line takes precedence everywhere."""
    env = {f"{ENV_FORM}opt_word": "variable", f"{ENV_FORM}opt_number": "3"}
    code, output = launch(options, command, "--opt-word=line", **env)
    assert code == 0, output
    assert in_place(options, "remote", "task_init", step="0") == {"opt-word": "line", "opt-number": 3}
    assert in_place(options, "job_script", "job_prolog") == {"opt-word": "line", "opt-number": 3}


SCRIPT = "printf '#!/bin/sh\\n#SBATCH --opt-word=script\\nsrun -Q true\\n' > script.sh; sbatch -o out"


@pytest.mark.parametrize("mode", ["manifest", *moved("python")])
@pytest.mark.parametrize(
    ("command", "env", "each"),
    moved_from(
        3,
        [
            pytest.param("srun -Q --opt-word=a --opt-word=b true", {}, ["a", "b"], id="srun"),
            pytest.param("salloc -Q --opt-word=a --opt-word=a true", {}, ["a", "a"], id="salloc"),
            pytest.param(f"{SCRIPT} script.sh", {}, ["script"], id="script"),
            pytest.param(f"{SCRIPT} --opt-word=b script.sh", {}, ["script", "b"], id="script-and-line"),
            pytest.param("srun -Q true", {f"{ENV_FORM}opt_word": "v"}, ["v"], id="variable"),
            pytest.param("srun -Q --opt-word=v true", {f"{ENV_FORM}opt_word": "v"}, ["v"], id="variable-and-line"),
            pytest.param(f"{SCRIPT} --opt-word=b script.sh", {f"{ENV_FORM}opt_word": "v"}, ["b"], id="all"),
        ],
    ),
)
def test_given_twice(options: Site, command: str, env: dict[str, str], each: list[str], mode: str) -> None:
    """Handlers in a command see each value that users gave in the script and the command line; steps the last one."""
    hide(options, mode)
    try:
        options.wait_until_idle()
        options.forget_records()
        done = options.shell(f"cd; {command}", **env)
        assert done.returncode == 0, done.stdout
        record = options.wait_for_records(callback="init_post_opt")[0]
        assert (record["context"] in ("local", "allocator"), record["each"]) == (True, {"opt-word": each})
        if not command.startswith("salloc"):
            remote = options.wait_for_records(context="remote", callback="task_init")
            assert {str(found["each"]) for found in remote} == {str({"opt-word": each[-1:]})}
    finally:
        hide(options, "manifest")


BAD = "--opt-word: 'bad' is not allowed here"
BUG = "slurmhooks: check of hook.spank.option('opt-broken') failed (error "


@pytest.mark.parametrize(
    ("command", "arguments", "env", "text"),
    moved_from(
        3,
        [
            pytest.param("srun", "--opt-word=bad", {}, BAD, id="srun-check"),
            pytest.param("salloc", "--opt-word=bad", {}, BAD, id="salloc-check"),
            pytest.param("sbatch", "--opt-word=bad", {}, BAD, id="sbatch-check"),
            pytest.param("srun", "--opt-number=many", {}, "--opt-number takes a whole number, not 'many'", id="type"),
            pytest.param("srun", "", {"opt_word": "bad"}, BAD, id="srun-variable"),
            pytest.param("sbatch", "", {"opt_word": "bad"}, BAD, id="sbatch-variable"),
            pytest.param("srun", "--opt-word=good", {"opt_word": "bad"}, BAD, id="variable-first"),
            pytest.param("srun", "--opt-broken=x", {}, BUG, id="bug"),
        ],
    ),
)
def test_refused(options: Site, command: str, arguments: str, env: dict[str, str], text: str) -> None:
    """A value that type or check refuses ends the command with the reason, and nothing is submitted."""
    before = options.root("scontrol --oneliner show jobs | wc -l")
    code, output = launch(options, command, arguments, "echo RAN", **{f"{ENV_FORM}{name}": env[name] for name in env})
    # The two numbers are Slurm's own.
    assert code == (1 if env else 255), output
    assert text in output
    assert "RAN" not in output
    assert "Traceback" not in output
    assert options.root("scontrol --oneliner show jobs | wc -l") == before


@pytest.mark.parametrize("mode", moved_from(1, ["manifest", "python"]))
@pytest.mark.parametrize("command", ["srun", "sbatch"])
def test_refused_in_the_step(options: Site, command: str, mode: str) -> None:
    """A value that only slurmstepd sees and refuses fails the tasks with the reason; the node stays in service."""
    hide(options, mode)
    code, output = launch(options, command, "", "echo RAN", **{f"{FORGED}opt_word": "bad"})
    assert code == 1, output
    assert BAD in output
    assert "RAN" not in output
    options.wait_until_idle()
    assert options.drained() == []
    hide(options, "manifest")


def hide(lent: Site, mode: str) -> None:
    """Move the manifest away, or back."""
    pair = ("slurmhooks.set/.manifest", "slurmhooks.set/.hidden")
    source, target = pair if mode == "python" else pair[::-1]
    lent.root(f"cd /etc/slurm; test ! -e {source} || mv {source} {target}")


def test_without_a_manifest(options: Site) -> None:
    """Without a manifest Python registers the options, with the same effect."""
    hide(options, "python")
    try:
        test_values(options, "sbatch", EACH, EACH_VALUE)
        test_values(options, "srun", "--opt-maybe", {"opt-maybe": True})
        test_refused(options, "srun", "--opt-word=bad", {}, BAD)
        test_variable_then_command_line(options, "srun")
        test_help(options, "srun")
    finally:
        hide(options, "manifest")


def test_refused_in_the_prolog(options: Site) -> None:
    """A value that only prolog and epilog see and refuse counts as not given; the node stays in service."""
    code, output = launch(options, "srun", "", "echo RAN", FORGE="good")
    assert in_place(options, "job_script", "job_prolog") == {"opt-late": "good"}
    code, output = launch(options, "srun", "", "echo RAN", FORGE="bad")
    assert (code, output) == (0, "RAN\n")
    assert in_place(options, "job_script", "job_prolog") == {}
    assert in_place(options, "job_script", "job_epilog") == {}
    assert options.drained() == []
    assert "ignored: --opt-late: bad is bad" in options.cluster.log("slurmd")


def test_contexts(options: Site) -> None:
    """An option exists only in the programs of its contexts."""
    code, output = launch(options, "srun", "--opt-srun")
    assert code == 0, output
    assert in_place(options, "remote", "task_init") == {"opt-srun": True}
    for command in ("salloc", "sbatch"):
        code, output = launch(options, command, "--opt-srun")
        assert code != 0
        assert "unrecognized option '--opt-srun'" in output
    assert "unrecognized option '--opt-late=x'" in launch(options, "srun", "--opt-late=x")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(options: Site, command: str) -> None:
    """--help lists the options below a heading, each with its argument and its complete text."""
    text = options.shell(f"{command} --help").stdout.split("Options provided by plugins:")[1]
    assert re.search(r"^ +--opt-word=WORD +\[site\] a word, which must not be bad$", text, re.MULTILINE)
    assert re.search(r"^ +--opt-flag +no argument; and a long text", text, re.MULTILINE)
    assert ("and a long text that --help has to wrap " * 4).strip() in " ".join(text.split())
    assert ("--opt-srun" in text) == (command == "srun")
    assert "--opt-late" not in text


def test_srun_in_a_job_may_say_otherwise(options: Site) -> None:
    """An srun inside a job has the job's options, and may override them."""
    options.wait_until_idle()
    options.forget_records()
    done = options.shell("cd; salloc -Q --opt-word=job sh -c 'srun -Q true; srun -Q --opt-word=step true'")
    assert done.returncode == 0, done.stdout
    options.wait_for_records(context="remote", callback="task_init", step="1")
    assert in_place(options, "remote", "task_init", step="0") == {"opt-word": "job"}
    assert in_place(options, "remote", "task_init", step="1") == {"opt-word": "step"}


def test_het_job(options: Site) -> None:
    """In a het job the options are read for each component, and Slurm keeps one value for all: the last one."""
    options.wait_until_idle()
    options.forget_records()
    done = options.shell("cd; srun -Q --opt-word=first true : --opt-word=second --opt-flag true")
    assert done.returncode == 0, done.stdout
    local = options.wait_for_records(context="local", callback="init_post_opt")
    assert [record["values"] for record in local] == [
        {"opt-word": "first"},
        {"opt-word": "second", "opt-flag": True},
    ]
    assert [record["each"]["opt-word"] for record in local] == [["first"], ["second"]]
    assert len({record["pid"] for record in local}) == 1
    options.wait_until_idle()
    steps = options.wait_for_records(context="remote", callback="task_init")
    assert len(steps) == 2
    assert {str(record["values"]) for record in steps} == {str({"opt-word": "second", "opt-flag": True})}


def test_het_batch_job(options: Site) -> None:
    """The same in a het job of sbatch; its srun can choose components."""
    options.wait_until_idle()
    options.forget_records()
    done = options.shell(
        "cd; sbatch --parsable -o out --opt-word=a : --opt-flag --wrap 'srun -Q --het-group=0,1 true; srun -Q true'"
    )
    assert done.returncode == 0, done.stdout
    options.wait_for_job(int(done.stdout))
    assert len(options.wait_for_records(context="allocator", callback="init_post_opt")) == 2
    values = [record["values"] for record in options.wait_for_records(context="remote", callback="task_init")]
    assert len(values) == 4, options.shell("cd; cat out").stdout
    assert all(value.get("opt-word") == "a" for value in values)


RELATIVE = """
import os
from slurmhooks import Reject, hook

folder = hook.spank.option("opt-folder", "FOLDER", usage="a folder of the user")
word = hook.spank.option("opt-word", "WORD", usage="a or b")

@folder.check
def absolute(text):
    if "forged" in text:
        raise Reject("no such folder")
    return os.path.abspath(text)

@word.check
def once(text):
    return {"a": "first", "b": "second"}[text]

@hook.spank.task_init
def show(spank):
    spank.env["SHOWN"] = f"shown {folder.value} {word.value}"
"""
"""A check whose result depends on the folder, and one that does not take its own result."""


def test_a_value_is_what_the_check_has_made_in_the_command(cluster: "Cluster") -> None:
    """Tasks and batch jobs have the value of the command that the user has called, and no variable of it is left."""
    lent = site(cluster)
    lent.hooks(relative=RELATIVE)
    lent.plugstack("required spank_python.so")
    lent.cluster.deploy()
    show = "sh -c 'printenv SHOWN; env | grep SLURMHOOKS_OPTION'"
    given = "--opt-folder=x --opt-word=b"
    for command, shown in {
        f"srun -Q {given} {show}": ["/opt/x second"],
        f"srun -Q {given} printenv SHOWN : --opt-folder=y printenv SHOWN": [
            "/opt/y second", "/opt/y second"  # of srun's options, Slurm passes on the last ones
        ],
        f'salloc -Q {given} sh -c "cd /; srun -Q {show}"': ["/opt/x second"],
        f'sbatch -Q -W -o /tmp/shown {given} --wrap "cd /; srun -Q {show}"; cat /tmp/shown': ["/opt/x second"],
    }.items():  # fmt: skip
        done = lent.shell(f"cd /opt; {command}")
        assert sorted(re.findall("shown (.*)", done.stdout)) == shown, (command, done.stdout)
        assert "SLURMHOOKS_OPTION" not in done.stdout
    # What the user writes there is checked as every text of the user.
    forged = "export _SLURMHOOKS_OPTION_python_opt_folder=2:/zforged; "
    done = lent.shell(f"{forged} cd /opt; srun -Q --opt-folder=/z {show}")
    assert (done.returncode != 0, "no such folder" in done.stdout, "shown" in done.stdout) == (True, True, False)
