# SPDX-License-Identifier: GPL-2.0-or-later
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.testing import FakeJob, launch, run

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
EXAMPLES = ROOT / "contrib" / "examples"

FAILING = """
def test_fails(submit):
    result = submit(account="chemistry")
    assert result.accepted, result

def test_without_handler(container):
    container()
"""
BUGGY = """
from slurmhooks import Reject, hook, log

@hook.job_submit(on_error="accept")
def buggy(job):
    job.nonsense

@hook.job_submit
def limits(job):
    log.user("looked at it")
    job.comment = "seen"
    if job.account == "chemistry":
        raise Reject("no chemistry")

@hook.job_modify
def never(job):
    pass
"""


def prints_of_pytest(folder: Path, *arguments: str) -> str:
    """Return what pytest prints; its exit code is the first line."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "slurmhooks", "-c", os.devnull]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return f"{done.returncode}\n{done.stdout}{done.stderr}"


def test_documented_tests_pass() -> None:
    """The tests that docs/testing.md shows pass, and the summary says which handlers never refused."""
    files = [f"--hooks={EXAMPLES / name}.py" for name in ("partition_time_limits", "option_choices")]
    out = prints_of_pytest(HERE, *files, "site_tests.py")
    assert out.startswith("0\n"), out
    assert "2 of 2 handlers ran\nnever refused: option_choices:set_mode\n" in out


def test_failures_explain(tmp_path: Path) -> None:
    """A failed test shows the request, handlers' changes and messages, and tracebacks.

    Without a handler a test fails.
    """
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "site.py").write_text(BUGGY)
    (tmp_path / "test_site.py").write_text(FAILING)
    out = prints_of_pytest(tmp_path, "--hooks", "hooks", "test_site.py")
    assert out.startswith("1\n"), out
    for text in (
        "job_submit of {'account': 'chemistry'}",
        "refused: no chemistry",
        "ran: site:buggy, site:limits",
        "to the user: looked at it",
        "AttributeError: job has no 'nonsense'",
        "no handler of hook.scrun.stage_in; there are handlers of: job_submit, job_modify",
        "2 of 3 handlers ran",
        "never ran: site:never",
        "never refused: site:buggy",
    ):
        assert text in out, out


def test_other_test_runs_pay_nothing() -> None:
    """pytest always imports the plugin, which imports nothing else of slurmhooks.testing, and adds no output."""
    code = (
        "import sys, pytest; before = set(sys.modules); import slurmhooks.pytest_plugin;"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('slurmhooks')));"
        "print('slurmhooks.testing' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nFalse\n"


def test_bugs_are_results(tmp_path: Path) -> None:
    """A bug that lets the request pass has its id and traceback in the result, and each handler that ran is named."""
    path = tmp_path / "site.py"
    path.write_text(BUGGY)
    result = run(path, "job_submit", job=FakeJob())
    assert result.accepted
    assert result.ran == ["site:buggy", "site:limits"]
    (bug,) = result.errors
    assert bug.id == result.error_id
    assert "handler site:buggy" in bug.text
    assert bug.text.endswith("AttributeError: job has no 'nonsense'")


def test_unknown_codes_are_found(tmp_path: Path) -> None:
    """A misspelt error code is an error in every test, even if no request is refused."""
    path = tmp_path / "site.py"
    path.write_text(BUGGY.replace('"no chemistry"', '"no chemistry", code="ESLURM_INVALID_ACOUNT"'))
    with pytest.raises(LoadError, match="ESLURM_INVALID_ACOUNT"):
        run(path, "job_submit", job=FakeJob())


def test_launch(tmp_path: Path) -> None:
    """A launch runs all callbacks in Slurm's order; a failure ends it, and what follows an end still runs."""
    calls = (
        "local_user_init job_prolog user_init task_init_privileged task_init task_post_fork task_exit exit job_epilog"
    )
    path = tmp_path / "site.py"
    path.write_text(
        "from slurmhooks import Reject, hook\n\n"
        + "".join(f"@hook.spank.{name}\n" for name in ["init", "init_post_opt", *calls.split()])
        + "def handler(spank):\n"
        + "    if spank.env.get('REFUSE') == spank.callback:\n        raise Reject('no')\n"
        + "    if spank.callback == 'task_init':\n"
        + "        spank.env['TASK'] = str(spank.task_global_id)\n        spank.prepend_task_argv(['nice'])\n"
    )
    done = launch(path, ["hostname"], tasks=2)
    assert done.accepted
    expected = [({"TASK": str(number)}, ["nice", "hostname"]) for number in (0, 1)]
    assert [(task.changes, task.argv) for task in done.tasks] == expected
    assert [(task.env["TASK"], task.env["SLURM_PROCID"]) for task in done.tasks] == [("0", "0"), ("1", "1")]
    places = [text.rpartition(" ")[0] for text in done.ran]
    assert places[:8] == [
        "local init",
        "local init_post_opt",
        "job_script job_prolog",
        "local local_user_init",
        "remote init",
        "remote init_post_opt",
        "remote user_init",
        "remote task_init_privileged",
    ]
    assert places[-3:] == ["remote exit", "local exit", "job_script job_epilog"]
    refused = launch(path, ["hostname"], env={"REFUSE": "user_init"})
    assert (refused.failed, refused.text, refused.tasks) == ("remote user_init", "no", [])
    assert [text.rpartition(" ")[0] for text in refused.ran[-3:]] == [
        "remote exit",
        "local exit",
        "job_script job_epilog",
    ]


def test_a_script_that_is_named(tmp_path: Path) -> None:
    """A name in place of a script's text is explained, at the line of the test, without frames of slurmhooks."""
    (tmp_path / "limits.py").write_text(BUGGY)
    (tmp_path / "test_it.py").write_text(
        "def test_named(submit):\n    submit('--time=60', 'run.sh')\n\n"
        "def test_wrong(submit):\n    submit('--time=soon')\n"
    )
    out = prints_of_pytest(tmp_path, f"--hooks={tmp_path / 'limits.py'}", "test_it.py", "--tb=short")
    assert "'run.sh' is not an option: a script is not named, its text is given as script=" in out
    places = re.findall(r"^(\S+\.py):\d+: in ", out, re.MULTILINE)
    assert places == ["test_it.py", "test_it.py"], out
