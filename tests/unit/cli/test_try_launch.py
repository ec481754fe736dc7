# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks try cli_filter` and `try spank` run the handlers of a launch with its options."""

import json
from pathlib import Path

from tests.unit.cli.try_site import Run

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


def test_the_options_of_a_command(run: Run, tmp_path: Path) -> None:
    """setup_defaults runs before pre_submit, which sees the user's options; the exit code shows the outcome."""
    path = tmp_path / "filters.py"
    path.write_text(FILTERS)
    common = ("try", "cli_filter", "--hooks", path, "--env", "SITE=here", "--json")
    done = run(*common, "sbatch", "--", "--account=a", "--hold", "--time=1:00:00", "job.sh", "--x")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["setup_defaults"]["changes"]) == (0, {"comment": "by default"})
    assert found["setup_defaults"]["user_messages"] == ["sbatch True"]
    assert found["pre_submit"]["changes"] == {"time": "00:05:00"}
    assert found["pre_submit"]["log"] == ["info: here argv=('job.sh', '--x')"]
    done = run(*common[:-1], "salloc")
    assert (done.exit_code, "pre_submit: refused: no account" in done.output) == (1, True)
    for words, text in (
        (("srun", "--", "-n", "3"), "write -n as --name=VALUE, by its long name"),
        (("srun", "--", "--wrap=x"), "srun does not take this: srun has no option --wrap"),
        (("srun", "--", "--time=junk"), "srun does not take this: "),
        (("--env", "X", "srun"), "--env needs NAME=VALUE, not 'X'"),
    ):
        done = run("try", "cli_filter", "--hooks", path, *words)
        assert (done.exit_code, text in done.output) == (2, True), done.output


def test_texts_of_slurm(run: Run, tmp_path: Path) -> None:
    """Defaults and options without a value, whose texts Slurm's parser may not read, reach pre_submit."""
    path = tmp_path / "filters.py"
    path.write_text(
        "from slurmhooks import hook, log\n@hook.cli_filter.setup_defaults\ndef d(options):\n"
        "    options['mem'] = '0'\n    options['no-kill'] = 'off'\n    options['time'] = '5'\n"
        "@hook.cli_filter.pre_submit\ndef p(options):\n    log.user(f'{options.given} {options.min_mem_per_node}')\n"
    )
    words = ("--priority=TOP", "--exclusive", "--quiet", "--time=6")
    done = run("try", "cli_filter", "--hooks", path, "--json", "sbatch", "--", *words)
    assert done.exit_code == 0, done.output
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


def test_a_launch(run: Run, tmp_path: Path) -> None:
    """`try spank` shows what an option does to tasks, prolog and epilog, or where the launch fails and why."""
    path = tmp_path / "launched.py"
    path.write_text(LAUNCHED)
    common = ("try", "spank", "--hooks", path)
    done = run(*common, "--tasks", "2", "--", "--gpu-mode=a", "hostname", "-f")
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[:3] == ["accepted", "to the user:", "as you like"]
    assert {"task 0 MODE a0", "task 1 MODE a1", "task 1 runs hostname -f", "prolog, epilog SPANK_MODE a"} < set(lines)
    assert "remote task_init launched:tell" in lines
    done = run(*common, "--json", "--", "--gpu-mode", "no")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["failed"], found["text"], found["tasks"]) == (1, "remote task_init", "never", [])
    for words, text in (
        (("--gpu=a",), "no hook file adds --gpu; they add: gpu-mode"),
        (("--gpu-mode",), "takes an arg"),
    ):
        done = run(*common, "--", *words)
        assert (done.exit_code, text in done.output) == (2, True), done.output


def test_no_launch(run: Run, tmp_path: Path) -> None:
    """Without a handler of SPANK there is nothing to run."""
    path = tmp_path / "filters.py"
    path.write_text(FILTERS)
    done = run("try", "spank", "--hooks", path)
    assert (done.exit_code, "Error: the hook files have no handler of SPANK" in done.output) == (2, True), done.output
