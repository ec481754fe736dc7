# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks try cli_filter` and `try spank` run the handlers of a launch with its options."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call

FILTERS = """
from slurmhooks import Reject, hook, log

@hook.cli_filter.setup_defaults
def defaults(options, early):
    log.user(f"{options.command} {early}")
    options.comment = "by default"

@hook.cli_filter.pre_submit
def account(options):
    if options.account is None:
        raise Reject("no account")
    options.time_limit = 5
    log.info(options.environment["SITE"], argv=options.argv)
"""


def test_the_options_of_a_command(run: Call, tmp_path: Path) -> None:
    """setup_defaults runs before pre_submit, which sees the user's options; the exit code shows the outcome."""
    path = tmp_path / "filters.py"
    path.write_text(FILTERS)
    common = ("try", "cli_filter", "--hooks", path, "--env", "SITE=here", "--json")
    done = run(*common, "sbatch", "--", "--account=a", "--hold", "--time=1:00:00", "job.sh", "--x")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["setup_defaults"]["changes"]) == (0, {"comment": "by default"})
    assert found["setup_defaults"]["user_messages"] == ["sbatch True", "sbatch False"]
    assert found["pre_submit"]["changes"] == {"time": "00:05:00"}
    assert found["pre_submit"]["log"] == ["info: here argv=('job.sh', '--x')"]
    run.refused(*common[:-1], "salloc", says="pre_submit: refused: no account")
    for words, text in (
        (("srun", "--", "-n"), "-n needs an argument"),
        (("srun", "--", "-a", "1"), "srun has no option -a"),
        (("srun", "--", "--label=x"), "--label takes no argument"),
        (("srun", "--", "--wrap=x"), "srun has no option --wrap"),
        (("srun", "--", "--time=junk"), "srun does not take this: "),
        (("--env", "X", "srun"), "--env needs NAME=VALUE, not 'X'"),
    ):
        done = run("try", "cli_filter", "--hooks", path, *words)
        assert (done.exit_code, text in done.output) == (2, True), done.output


def test_texts_of_slurm(run: Call, tmp_path: Path) -> None:
    """Defaults and options without a value, whose texts Slurm's parser may not read, reach pre_submit."""
    path = tmp_path / "filters.py"
    path.write_text(
        "from slurmhooks import hook, log\n@hook.cli_filter.setup_defaults\ndef d(options):\n"
        "    options['mem'] = '0'\n    options['no-kill'] = 'off'\n    options['time'] = '5'\n"
        "@hook.cli_filter.pre_submit\ndef p(options):\n    log.user(f'{options.given} {options.min_mem_per_node}')\n"
    )
    words = ("--priority=TOP", "--exclusive", "--quiet", "--time=6")
    done = run.passed("try", "cli_filter", "--hooks", path, "--json", "sbatch", "--", *words)
    assert json.loads(done.stdout)["pre_submit"]["user_messages"] == [
        "{'exclusive': 'exclusive', 'mem': '0?', 'no-kill': 'unset', 'priority': '-3', 'quiet': '1',"
        " 'time': '00:06:00'} 0"
    ]


LAUNCHED = """
from slurmhooks import Reject, hook, log

mode = hook.spank.option("gpu-mode", "MODE", usage="how")

@hook.spank.init_post_opt(contexts="local")
def control(spank):
    spank.job_control_env["MODE"] = mode.value or ""
    log.user("as you like")

@hook.spank.task_init
def tell(spank):
    if mode.value == "no":
        raise Reject("never")
    spank.env["MODE"] = f"{mode.value}{spank.task_global_id}"
"""


def test_a_launch(run: Call, tmp_path: Path) -> None:
    """`try spank` shows what an option does to tasks, prolog and epilog, or where the launch fails and why."""
    path = tmp_path / "launched.py"
    path.write_text(LAUNCHED)
    common = ("try", "spank", "--hooks", path)
    done = run.passed(*common, "--tasks", "2", "--", "--gpu-mode=a", "hostname", "-f")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[:3] == ["accepted", "to the user:", "as you like"]
    assert {"task 0 MODE a0", "task 1 MODE a1", "task 1 runs hostname -f", "prolog, epilog SPANK_MODE a"} < set(lines)
    assert "remote task_init launched:tell" in lines
    done = run(*common, "--json", "--", "--gpu-mode", "no")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["failed"], found["text"], found["tasks"]) == (1, "remote task_init", "never", [])
    for words, text in (
        (("--gpu=a",), "--gpu is ambiguous: it may be --gpu-bind, --gpu-freq, --gpu-mode, --gpus,"),
        (("--gpx=a",), "srun has no option --gpx; hook files add --gpu-mode"),
        (("--gpu-mode",), "--gpu-mode needs an argument"),
        (("-9",), "srun has no option -9"),
    ):
        done = run(*common, "--", *words)
        assert (done.exit_code, text in done.output) == (2, True), done.output


def test_no_launch(run: Call, tmp_path: Path) -> None:
    """Without a handler of SPANK there is nothing to run."""
    path = tmp_path / "filters.py"
    path.write_text(FILTERS)
    done = run("try", "spank", "--hooks", path)
    assert (done.exit_code, "Error: the hook files have no handler of SPANK" in done.output) == (2, True), done.output


@pytest.mark.slow
def test_options_of_srun(run: Call, tmp_path: Path) -> None:
    """As in srun, options may be abbreviated, and short ones joined; a note names those without effect."""
    path = tmp_path / "launched.py"
    path.write_text(LAUNCHED)
    common = ("try", "spank", "--hooks", path, "--json", "--")
    more = ["-ln2", "--exclusive", "--mem-bind", "none", "--gpu-mode", "a"]
    for words in (["-n2", "--gpu-m=a"], more, ["--ntasks=2", "--gpu-m", "a"]):
        done = run(*common, *words, "--", "hostname", "-f")
        found = json.loads(done.stdout)
        assert [task["changes"]["MODE"] for task in found["tasks"]] == ["a0", "a1"], done.output
        assert found["tasks"][0]["argv"] == ["hostname", "-f"]
        assert ("note: no effect here: --exclusive, --mem-bind" in done.stderr) == ("--mem-bind" in words)
    variable = "SLURM_SPANK__SLURM_SPANK_OPTION_python_gpu_mode=x"
    found = json.loads(run("try", "spank", "--hooks", path, "--env", variable, "--json").stdout)
    assert found["tasks"][0]["changes"]["MODE"] == "x0"


LINES = {
    "a/one.py": "option = hook.spank.option('one', 'X', usage='')\n"
    "@hook.spank.task_init\ndef one(spank):\n    spank.env['ONE'] = f'{option.value} {spank.args}'\n",
    "b/two.py": "@hook.spank.task_init\ndef two(spank):\n"
    "    spank.env['TWO'] = f'{spank.env[\"ONE\"]} {spank.args}'\n    spank.prepend_task_argv(['two'])\n",
    "three.py": "option = hook.spank.option('three', usage='')\n"
    "@hook.spank.task_init\ndef three(spank):\n    spank.env['THREE'] = f'{option.value} {spank.args}'\n",
    "fails.py": "@hook.spank.task_init\ndef fails(spank): raise Reject('no')\n",
}


@pytest.mark.slow
def test_lines_of_plugstack_conf(run: Call, tmp_path: Path) -> None:
    """The hook files are those of the lines of plugstack.conf, with their arguments, in their order."""
    for name, text in LINES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"from slurmhooks import Reject, hook\n{text}")
    (tmp_path / "slurmhooks.toml").write_text('[hooks]\npaths = ["three.py"]\n')
    (tmp_path / "more.conf").write_text("required spank_python.so -- x y\n")
    (tmp_path / "plugstack.conf").write_text(
        "# required spank_python.so fails.py\nrequired /usr/lib/slurm/spank_python.so failonerror a/*.py 1 2 # note\n"
        f"optional spank_python b/two.py\noptional spank_python.so {tmp_path}/fails.py\ninclude more.conf\n"
        "required other.so fails.py\n"
    )
    common = ("try", "spank", "--sysconfdir", tmp_path, "--json")
    found = json.loads(run(*common, "--", "--one=x", "--three", "true").stdout)
    assert (found["accepted"], found["failed"]) == (True, None)
    assert found["tasks"][0]["changes"] == {"ONE": "x ('1', '2')", "TWO": "x ('1', '2') ()", "THREE": "True ('x', 'y')"}
    assert found["tasks"][0]["argv"] == ["two", "true"]
    (tmp_path / "plugstack.conf").write_text("required spank_python.so fails.py\nrequired spank_python.so a/*.py\n")
    found = json.loads(run(*common).stdout)
    assert (found["failed"], found["ran"]) == ("remote task_init", ["remote task_init fails:fails"])
    (tmp_path / "plugstack.conf").write_text("required spank_python.so none/*.py init_failure_mode=none\n")
    assert run(*common).exit_code == 1
    (tmp_path / "none").mkdir()
    assert run(*common).exit_code == 2
    (tmp_path / "plugstack.conf").write_text("required spank_python.so init_failure_mode=none\n")
    assert run(*common).exit_code == 1
    (tmp_path / "plugstack.conf").unlink()
    found = json.loads(run(*common).stdout)
    assert found["tasks"][0]["changes"] == {"THREE": "None ()"}
    files = ("try", "spank", "--hooks", tmp_path / "three.py", "--json", "--arg", "p", "--arg=q")
    assert json.loads(run(*files).stdout)["tasks"][0]["changes"] == {"THREE": "None ('p', 'q')"}
    assert run(*common, "--arg", "p").exit_code == 2


def test_lua_scripts_are_not_tried(run: Call, tmp_path: Path) -> None:
    """A note names each Lua script of SPANK that Slurm would run and `try` leaves out, also where options are read."""
    (tmp_path / "hooks.py").write_text(FILTERS)
    (tmp_path / "site.lua").write_text("function slurm_spank_task_init(spank) return -1 end\n")
    (tmp_path / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.py"]\n')
    (tmp_path / "plugstack.conf").write_text("required spank_python.so *.lua\nrequired spank_python.so hooks.py\n")
    for words in (("spank",), ("cli_filter", "--env", "SITE=x", "srun"), ("job_submit", "--command", "srun")):
        done = run("try", words[0], "--sysconfdir", tmp_path, *words[1:], "--", "true")
        assert f"{tmp_path}/site.lua is not tried" in done.stderr, (words, done.output)


SPANK_IN_CLI = """
from slurmhooks import hook, log

mode = hook.spank.option("gpu-mode", "MODE", usage="how")
flag = hook.spank.option("my-flag", usage="flag")
level = hook.spank.option("level", "N", usage="opt", optional=True)

@hook.cli_filter.pre_submit
def pre(options):
    log.info("%s %s", dict(options.spank), options.time_limit)
"""


def test_options_of_spank_and_of_the_script(run: Call, tmp_path: Path) -> None:
    """cli_filter sees the options of SPANK plugins, and those of the script's #SBATCH lines, as in sbatch."""
    path, script = tmp_path / "cli.py", tmp_path / "job.sh"
    path.write_text(SPANK_IN_CLI)
    script.write_text("#!/bin/sh\n#SBATCH -t5 --gpu-mode=s --my-flag\n#SBATCH --level\ntrue\n#SBATCH -t7\n")
    common = ("try", "cli_filter", "--hooks", path, "--json")

    def seen(*words: object) -> str:
        done = run.passed(*common, *words)
        text: str = json.loads(done.stdout)["pre_submit"]["log"][0]
        return text

    assert seen("srun") == "info: {'python': {'gpu-mode': None, 'my-flag': None, 'level': None}} None"
    assert seen("sbatch", "--", script) == "info: {'python': {'gpu-mode': 's', 'my-flag': 'set', 'level': 'set'}} 5"
    given = seen("sbatch", "--", "--gpu-m=c", "-t", "9", "--level=", script)
    assert given == "info: {'python': {'gpu-mode': 'c', 'my-flag': 'set', 'level': ''}} 9"
    variable = "SLURM_SPANK__SLURM_SPANK_OPTION_python_gpu_mode=x"
    assert seen("--env", variable, "salloc", "--", "-n2").startswith("info: {'python': {'gpu-mode': 'x',")
    for text, says in (("echo\n", "begins with #!"), ("#!/bin/sh\r\n", "DOS line breaks")):
        script.write_text(text)
        done = run(*common, "sbatch", "--", script)
        assert (done.exit_code, says in done.output) == (2, True), done.output
    done = run(*common, "sbatch", "--", tmp_path / "none.sh")
    assert (done.exit_code, "none.sh: No such file or directory: its options are not read" in done.output) == (0, True)


def test_components_and_variables(run: Call, tmp_path: Path) -> None:
    """Each component of a heterogeneous job is a document of its own; variables give options."""
    path = tmp_path / "filters.py"
    path.write_text(
        "from slurmhooks import hook, log\n@hook.cli_filter.pre_submit\ndef p(options, offset):\n"
        "    log.user(f'{offset} {options.num_tasks} {options.account}')\n"
    )
    common = ("try", "cli_filter", "--hooks", path, "--json")
    done = run(*common, "--env", "SBATCH_ACCOUNT=a", "sbatch", "--", "-n1", ":", "-n2", "--wrap", "true")
    found = json.loads(done.stdout)
    assert [each["pre_submit"]["user_messages"] for each in found] == [["0 1 a"], ["1 2 a"]]
    done = run(*common, "srun", "--", "-n1", "true", ":", "-n3", "false")
    found = json.loads(done.stdout)
    assert [each["pre_submit"]["user_messages"] for each in found] == [["0 1 None"], ["1 3 None"]]


GPUS = """
from slurmhooks import hook, log

@hook.spank.job_prolog
def prolog(spank):
    log.info(f"prolog {spank.env.get('SLURM_JOB_GPUS')} {spank.env.get('CUDA_VISIBLE_DEVICES')}")

@hook.spank.task_init
def task(spank):
    log.info(f"task {spank.env.get('SLURM_STEP_GPUS')} {spank.env.get('SLURM_GPUS_ON_NODE')}")
"""


@pytest.mark.slow
def test_variables_of_gpus(run: Call, tmp_path: Path) -> None:
    """Prolog and step have the variables of the GPUs that the job asks for, as on a node of Slurm; others have none."""
    path = tmp_path / "gpus.py"
    path.write_text(GPUS)
    for words, logged in {
        ("--gres=gpu:a100:2,tape:1",): ["prolog 0,1 0,1", "task 0,1 2"],
        ("--gpus=a100:1,v100:2",): ["prolog 0,1,2 0,1,2", "task 0,1,2 3"],
        ("--gpus-per-node=1",): ["prolog 0 0", "task 0 1"],
        ("--gres=tape:1",): ["prolog None None", "task None None"],
    }.items():
        done = run("try", "spank", "--hooks", path, "--json", "--", *words, "true")
        assert json.loads(done.stdout)["log"] == [f"info: {line}" for line in logged], words


RELATIVE = """
import os
from slurmhooks import hook, log

folder = hook.spank.option("folder", "FOLDER", usage="a folder")
word = hook.spank.option("word", "WORD", usage="a or b")
folder.check(os.path.abspath)
word.check(lambda text: {"a": "first"}[text])

@hook.spank.task_init
def task(spank):
    log.info(f"{folder.value} {word.value}")
"""


def test_what_a_check_has_made_travels(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks have the path that the check has made in srun; a check that does not take its result runs on the text."""
    path = tmp_path / "relative.py"
    path.write_text(RELATIVE)
    monkeypatch.chdir(tmp_path)
    done = run("try", "spank", "--hooks", path, "--json", "--", "--folder=x", "--word=a", "true")
    assert json.loads(done.stdout)["log"] == [f"info: {tmp_path}/x first"]
