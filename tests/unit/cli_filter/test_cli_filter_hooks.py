# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers of cli_filter, run by slurmhooks.testing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.testing import FakeJob, FakeOptions, run

Write = Callable[[str], Path]


@pytest.fixture
def hooks(tmp_path: Path) -> Write:
    """Write a hook file and return its path."""

    def write(text: str) -> Path:
        path = tmp_path / "site.py"
        path.write_text(f"from slurmhooks import Reject, hook, log\n{text}")
        return path

    return write


RULE = """
@hook.job_submit
@hook.cli_filter.pre_submit
def limit(job):
    if job.account is None:
        raise Reject("please name an account")
    if job.time_limit is None:
        job.time_limit = 60
"""


def test_one_rule_at_two_places(hooks: Write) -> None:
    """A function that takes job is a handler of cli_filter and of job_submit."""
    path = hooks(RULE)
    assert run(path, "cli_filter.pre_submit").text == "please name an account"
    assert run(path, "job_submit").text == "please name an account"
    assert run(path, "cli_filter.pre_submit", options=FakeOptions(account="a")).changes == {"time": "01:00:00"}
    assert run(path, "job_submit", job=FakeJob(account="a")).changes == {"time_limit": 60}


def test_a_refusal_changes_nothing(hooks: Write) -> None:
    """The stand-in stays unchanged, because nothing is sent."""
    options = FakeOptions(environment={"A": "1"})
    path = hooks(
        "@hook.cli_filter.pre_submit\ndef f(options):\n    options.comment = 'x'\n"
        "    options.environment['A'] = '2'\n    raise Reject('no')\n"
    )
    result = run(path, "cli_filter.pre_submit", options=options)
    assert (result.accepted, result.text, result.changes) == (False, "no", {})
    assert (options.comment, options.environment["A"]) == (None, "1")


def test_contexts_are_commands(hooks: Write) -> None:
    """A handler runs in the commands that it names; others are refused when the file loads."""
    path = hooks("@hook.cli_filter.pre_submit(contexts=['srun', 'salloc'])\ndef f(): log.user('ran')\n")
    assert run(path, "cli_filter.pre_submit", options=FakeOptions("srun")).user_messages == ["ran"]
    assert run(path, "cli_filter.pre_submit", options=FakeOptions("sbatch")).user_messages == []
    path = hooks("@hook.cli_filter.pre_submit(contexts='local')\ndef f(): ...\n")
    with pytest.raises(Exception, match="contexts may name salloc, sbatch, srun, scrontab; not 'local'"):
        run(path, "cli_filter.pre_submit")


def test_the_arguments_of_each_call(hooks: Write) -> None:
    """Arguments by name: the component before and after the submission, the job and the step after it."""
    path = hooks(
        "@hook.cli_filter.setup_defaults\ndef a(options, early): log.user(f'{early}')\n"
        "@hook.cli_filter.pre_submit\ndef b(offset, options): log.user(f'{offset} {options.argv}')\n"
        "@hook.cli_filter.post_submit\ndef c(job_id, step_id, offset): log.user(f'{offset} {job_id} {step_id}')\n"
    )
    early = FakeOptions(early=True)
    assert run(path, "cli_filter.setup_defaults", options=early).user_messages == ["True"]
    options = FakeOptions("srun", argv=["a", "b"])
    assert run(path, "cli_filter.pre_submit", options=options, offset=1).user_messages == ["1 ('a', 'b')"]
    assert run(path, "cli_filter.post_submit", job_id=5, offset=2).user_messages == ["2 5 None"]
    with pytest.raises(TypeError, match="takes options=FakeOptions"):
        run(path, "cli_filter.pre_submit", options={"a": "b"})


@pytest.mark.parametrize("command", ["srun", "sbatch", "salloc", "scrontab"])
@pytest.mark.parametrize("terminal", [False, True])
def test_who_is_there(tmp_path: Path, command: str, terminal: bool) -> None:
    """A handler sees whether somebody waits for what the command starts, and whether its messages reach a terminal."""
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import hook, log\n"
        "@hook.cli_filter.pre_submit\ndef a(job): log.user(f'{job.interactive} {job.terminal}')\n"
    )
    result = run(tmp_path / "hooks.py", "cli_filter.pre_submit", options=FakeOptions(command, terminal=terminal))
    assert result.user_messages == [f"{command in ('srun', 'salloc')} {terminal}"]
