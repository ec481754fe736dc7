# SPDX-License-Identifier: GPL-2.0-or-later
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# The README shows hello.py, where annotations would distract.
EXAMPLES = sorted(path for path in (ROOT / "contrib" / "examples").glob("*.py") if path.name != "hello.py")


def test_types_of_hook_files() -> None:
    """Hook files and all examples pass mypy --strict, and each mistake in refused.py is found under its code.

    An unneeded ``ignore`` is an error in strict mode, so the test fails if mypy no longer finds a mistake.
    """
    names = [str(path) for path in (HERE / "accepted.py", HERE / "refused.py", *EXAMPLES)]
    command = [sys.executable, "-m", "mypy", "--strict", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"Success: no issues found in {len(names)} source files\n"


def test_every_mistake_says_which_error_it_is() -> None:
    """A bare ignore would also hide unintended errors."""
    lines = (HERE / "refused.py").read_text().splitlines()
    marked = [line for line in lines if "  # type: ignore" in line]
    assert len(marked) > 70
    assert [line for line in marked if not re.search(r"# type: ignore\[[a-z, -]+\](  # noqa: \w+)?$", line)] == []
    assert "type: ignore" not in (HERE / "accepted.py").read_text()


def test_examples_are_annotated() -> None:
    """An example without annotations would pass because mypy does not look into it."""
    defs = [line for path in EXAMPLES for line in path.read_text().splitlines() if line.startswith("def ")]
    assert len(defs) > 20
    assert [line for line in defs if " -> " not in line] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "members"),
    [
        ("hook.", ("job_submit", "job_modify", "spank", "scrun", "cli_filter", "priority")),
        ("hook.spank.", ("task_init", "init_post_opt", "option")),
        ("def handler(job: Job) -> None:\n    job.", ("account", "time_limit", "environment")),
        (
            "def handler(spank: Spank) -> None:\n    spank.",
            ("job_id", "env", "task_exit_status", "job_pid_to_global_id"),
        ),
        ("def handler(record: Record) -> None:\n    record.", ("job_state", "time_limit")),
        ("def handler(container: Container) -> None:\n    container.", ("bundle", "job_env", "remote_command")),
    ],
)
def test_editors_complete(line: str, members: tuple[str, ...]) -> None:
    """An editor shows the hooks, and the members of handlers' arguments, each with its description."""
    jedi: Any = pytest.importorskip("jedi")  # untyped
    text = f"from slurmhooks import hook\nfrom slurmhooks.types import Container, Job, Record, Spank\n\n{line}"
    project = jedi.Project(ROOT, sys_path=[str(ROOT), *sys.path], smart_sys_path=False)
    shown = {each.name: each.docstring() for each in jedi.Script(text, project=project).complete()}
    assert [name for name in members if not shown.get(name)] == []
    assert "nonsense" not in shown
