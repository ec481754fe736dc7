# SPDX-License-Identifier: GPL-2.0-or-later
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MARK = re.compile(r"  # type: ignore\[([a-z, -]+)\].*$")
# The arguments of each type checker, and how it shows an error.
CHECKERS = {
    "basedpyright": (["--level", "error", "--pythonpath", sys.executable], r"refused\.py:(\d+):\d+ - error"),
    # Without a configuration file, pyrefly looks only for a few kinds of mistakes.
    "pyrefly": (
        ["check", "--preset", "default", "--python-interpreter-path", sys.executable, "--output-format", "min-text"],
        r"ERROR \S*refused\.py:(\d+):",
    ),
    "ty": (
        ["check", "--python", sys.prefix, "--output-format", "concise", "--error", "redundant-condition-strict"],
        r"refused\.py:(\d+):\d+: error",
    ),
}
SETTINGS = {"pyrightconfig.json": '{"reportUnnecessaryComparison": "error"}'}
"""Configuration files, by name: basedpyright only warns of a comparison that is never true."""
NOT_FOUND = {"pyrefly": "comparison-overlap"}
"""The kinds of mistakes, by mypy's names, that a type checker does not look for."""
# The README shows hello.py, where annotations would distract.
EXAMPLES = sorted(path for path in (ROOT / "contrib" / "examples").glob("*.py") if path.name != "hello.py")


@pytest.mark.slow
def test_types_of_hook_files() -> None:
    """Hook files and all examples pass mypy --strict, and each mistake in refused.py is found under its code.

    An unneeded ``ignore`` is an error in strict mode, so the test fails if mypy no longer finds a mistake.
    """
    names = [str(path) for path in (HERE / "accepted.py", HERE / "refused.py", *EXAMPLES)]
    command = [sys.executable, "-m", "mypy", "--strict", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"Success: no issues found in {len(names)} source files\n"


def mistakes_missed(checker: str, program: str, folder: Path) -> list[str]:
    """Return the lines of refused.py in which another type checker finds no mistake, although mypy does.

    Raises:
        AssertionError: it finds a mistake in accepted.py, or in another line.
    """
    lines = (HERE / "refused.py").read_text().splitlines()
    codes = {number: match[1] for number, line in enumerate(lines, 1) if (match := MARK.search(line))}
    (folder / "refused.py").write_text("".join(f"{MARK.sub('', line)}\n" for line in lines))
    (folder / "accepted.py").write_text((HERE / "accepted.py").read_text())
    for name, text in SETTINGS.items():
        (folder / name).write_text(text)
    arguments, pattern = CHECKERS[checker]
    accepted, done = (
        subprocess.run([program, *arguments, name], cwd=folder, capture_output=True, text=True, check=False)
        for name in ("accepted.py", "refused.py")
    )
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    found = {int(number) for number in re.findall(pattern, done.stdout + done.stderr)}
    # A mistake in a handler is marked at its decorator; some checkers show the line of the function.
    marks = {number: next((mark for mark in range(number, number - 3, -1) if mark in codes), 0) for number in found}
    assert [lines[number - 1] for number, mark in marks.items() if not mark] == []
    missed = [number for number in codes if number not in marks.values()]
    return [lines[number - 1] for number in missed if codes[number] != NOT_FOUND.get(checker)]


@pytest.mark.moved
@pytest.mark.slow
@pytest.mark.parametrize("checker", ["pyrefly", "ty"])
def test_other_type_checkers(checker: str, tmp_path: Path) -> None:
    """They find the same mistakes as mypy, and none in accepted.py."""
    assert mistakes_missed(checker, str(Path(sys.executable).parent / checker), tmp_path) == []


@pytest.mark.soak
def test_basedpyright(tmp_path: Path) -> None:
    """It finds the same mistakes; it is not among the tools of `make venv` because it brings Node.js, 200 MB."""
    program = Path(sys.executable).parent / "basedpyright"
    if not program.exists():
        pytest.skip("NOT TESTED: no basedpyright, which `make soak` installs")
    assert mistakes_missed("basedpyright", str(program), tmp_path) == []


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


@pytest.mark.moved
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
        ("def handler(options: Options) -> None:\n    options.", ("account", "time_limit", "script")),
    ],
)
def test_editors_complete(line: str, members: tuple[str, ...]) -> None:
    """An editor shows the hooks, and the members of handlers' arguments, each with its description."""
    jedi: Any = pytest.importorskip("jedi")  # untyped
    text = f"from slurmhooks import hook\nfrom slurmhooks.types import Container, Job, Options, Record, Spank\n\n{line}"
    project = jedi.Project(ROOT, sys_path=[str(ROOT), *sys.path], smart_sys_path=False)
    shown = {each.name: each.docstring() for each in jedi.Script(text, project=project).complete()}
    assert [name for name in members if not shown.get(name)] == []
    assert "nonsense" not in shown
