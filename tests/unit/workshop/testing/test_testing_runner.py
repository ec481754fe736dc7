# SPDX-License-Identifier: GPL-2.0-or-later
"""run() loads hook files as Slurm's processes do, and its result has all that handlers did."""

import importlib.util
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.hooks.points import HOOKS
from slurmhooks.log import log
from slurmhooks.testing import FakeJob, FakeRecord, FakeSpank, fake_jobs, fake_nodes, fake_partitions, run
from tests.unit.workshop.testing.conftest import Write

# The result.


def test_a_pass(hooks: Callable[[str], Path]) -> None:
    """The result has the changes, messages and log of an accepted request."""
    path = hooks(
        """
@hook.job_submit
def handler(job, submit_uid):
    job.comment = f"by {submit_uid}"
    log.user("hello %s", "you")
    log.info("ran", uid=submit_uid)
"""
    )
    job = FakeJob(name="x")
    result = run(path, "job_submit", job=job, submit_uid=7)
    assert (result.accepted, result.code, result.text, result.error_id) == (True, None, None, None)
    assert result.changes == {"comment": "by 7"}
    assert result.user_messages == ["hello you"]
    assert result.log == ["info: ran uid=7"]
    assert job.comment == "by 7"
    assert "accepted=True" in repr(result)


def test_a_refusal_changes_nothing(hooks: Callable[[str], Path]) -> None:
    """The result of a refusal has code, text and messages, and no changes."""
    path = hooks(
        """
@hook.job_submit
def first(job):
    job.comment = "x"
    job.environment["X"] = "1"
    job.argv.append("y")
    log.user("one thing")

@hook.job_submit
def second(job):
    assert job.comment == "x"
    raise Reject("no", code="ESLURM_INVALID_QOS")
"""
    )
    job = FakeJob(script="#!/bin/sh")
    result = run(path, "job_submit", job=job)
    assert (result.accepted, result.code, result.text) == (False, "ESLURM_INVALID_QOS", "no")
    assert result.changes == {}
    assert result.user_messages == ["one thing"]
    assert (job.comment, dict(job.environment), list(job.argv)) == (None, {}, [])


def test_a_bug_is_shown_with_its_traceback(hooks: Callable[[str], Path]) -> None:
    """The representation of a result with a bug shows the log."""
    result = run(hooks("@hook.job_submit\ndef handler(job):\n    {}['x']\n"), "job_submit")
    assert not result.accepted
    assert result.error_id is not None
    assert result.text is not None
    assert result.error_id in result.text
    assert "KeyError: 'x'" in repr(result)
    assert all(line.startswith(f"error: error {result.error_id}: ") for line in result.log)


def test_a_lenient_bug_is_undone(hooks: Callable[[str], Path]) -> None:
    """on_error="accept" behaves as in slurmctld."""
    path = hooks(
        "@hook.job_submit(on_error='accept')\ndef handler(job):\n    job.comment = 'x'\n    raise ValueError\n"
    )
    result = run(path, "job_submit")
    assert result.accepted
    assert result.changes == {}
    assert len(result.user_messages) == 1


def test_slurms_log_is_the_tests_own_only_while_it_runs(hooks: Callable[[str], Path]) -> None:
    """After a run the log writes to its previous destination."""
    own = print, print, None
    before = log.attach(*own)
    run(hooks("@hook.job_submit\ndef handler(job): log.info('x')\n"), "job_submit")
    assert log.attach(*before) == own


def test_the_timer_of_a_test_goes_on(hooks: Callable[[str], Path]) -> None:
    """A time limit of the test itself, such as that of pytest-timeout, is no timer that a handler has left."""
    former = signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        assert run(hooks("@hook.job_submit\ndef passes(job):\n    pass"), "job_submit").log == []
    finally:
        left, _ = signal.setitimer(signal.ITIMER_REAL, *former)
    assert left > 0


def test_a_bug_that_passes_is_seen(hooks: Callable[[str], Path]) -> None:
    """on_error="accept" accepts the request, and a test can tell that from a handler without a bug."""
    path = hooks("@hook.job_submit(on_error='accept')\ndef handler(job):\n    raise ValueError('here')\n")
    result = run(path, "job_submit")
    assert result.accepted
    assert result.error_id is not None
    assert result.error_id in result.user_messages[0]
    assert "ValueError: here" in repr(result)


def test_a_misspelled_code(write: Write) -> None:
    """An unknown error code refuses even if on_error accepts bugs, and the log names the nearest code."""
    path = write(
        "hooks.py",
        """
        from slurmhooks import Reject, hook

        @hook.job_submit(on_error="accept")
        def submit(job):
            raise Reject("no", code="ESLURM_INVALID_" + "ACOUNT")  # not to be found without running it
        """,
    )
    result = run(path, "job_submit")
    assert (result.accepted, result.code, result.text) == (False, "ESLURM_ACCESS_DENIED", "no")
    assert result.error_id is not None
    assert "nearest: ESLURM_INVALID_ACCOUNT" in repr(result)


# Loading.


def test_a_broken_file_is_told_as_when_it_is_loaded(hooks: Callable[[str], Path], tmp_path: Path) -> None:
    """A file with mistakes raises LoadError with the findings of check."""
    with pytest.raises(LoadError, match="takes 'jbo', which the hook does not have"):
        run(hooks("@hook.job_submit\ndef handler(jbo): ...\n"), "job_submit")
    with pytest.raises(LoadError, match="no such hook file"):
        run(tmp_path / "gone.py", "job_submit")


def test_a_file_is_loaded_anew(hooks: Callable[[str], Path]) -> None:
    """Each run loads a file again, with fresh globals."""
    path = hooks(
        "seen = []\n@hook.job_submit\ndef handler(job):\n    seen.append(1)\n    job.comment = str(len(seen))\n"
    )
    assert run(path, "job_submit").changes == run(str(path), "job_submit").changes == {"comment": "1"}


@pytest.fixture
def module(hooks: Callable[[str], Path]) -> Iterator[ModuleType]:
    """Import a hook file as a test would, to replace a part of it."""
    path = hooks(
        """
LIMIT = 60
quota = hook.spank.option("quota", "N", usage="", type=int)

@hook.job_submit
def handler(job):
    job.time_limit = LIMIT

@hook.spank.task_init
def task(spank):
    spank.env["QUOTA"] = str(quota.value)
"""
    )
    spec = importlib.util.spec_from_file_location("hooks_of_a_test", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[made.__name__] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules[made.__name__]


def test_an_imported_module_runs_as_it_is(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test may replace what a module looks up."""
    assert run(module, "job_submit").changes == {"time_limit": 60}
    monkeypatch.setattr(module, "LIMIT", 5)
    assert run(module, "job_submit").changes == {"time_limit": 5}


def test_options_are_forgotten_between_runs(module: ModuleType) -> None:
    """Values of options are reset after each run."""
    assert run(module, "spank.task_init", options={"quota": "5"}).changes == {"env": {"QUOTA": "5"}}
    assert run(module, "spank.task_init").changes == {"env": {"QUOTA": "None"}}


def test_handlers_can_be_called_as_they_are(module: ModuleType) -> None:
    """A test may call a handler with a stand-in and read what it wrote."""
    job = FakeJob()
    module.handler(job)
    assert job.time_limit == 60
    assert run(module, "job_submit", job=job).changes == {}


# Wrong use.


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_runs_with_defaults(hooks: Callable[[str], Path], hook: str) -> None:
    """Every argument of a hook has a default."""
    arguments = ", ".join(HOOKS[hook].arguments)
    mark = f'hook.{hook}("5m")' if HOOKS[hook].is_periodic else f"hook.{hook}"
    result = run(hooks(f"@{mark}\ndef handler({arguments}): log.info('ran')\n"), hook)
    assert result.accepted
    assert result.log == ["info: ran"]
    assert result.changes == {}


def test_misspelt_names_are_told(hooks: Callable[[str], Path]) -> None:
    """Hooks, fields, items, options and contexts that do not exist are errors with the nearest names."""
    path = hooks("hook.spank.option('greet', 'NAME', usage='')\n")
    wrong: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (ValueError, "no hook 'job_submti'; nearest: job_submit", lambda: run(path, "job_submti")),
        (AttributeError, "job has no 'accounn'; nearest: account", lambda: FakeJob(accounn="x")),
        (AttributeError, "record has no 'timelimit'; nearest: time_limit", lambda: FakeRecord(timelimit=1)),
        (AttributeError, "partition has no 'maxtime'", lambda: fake_partitions({"a": {"maxtime": 1}})),
        (AttributeError, "since Slurm 23.02; this is 22.05", lambda: FakeJob(release="22.05", container_id="x")),
        (ValueError, "no item 'jobid'; nearest: job_id", lambda: FakeSpank(items={"jobid": 1})),
        (ValueError, "no context 'remotee'", lambda: FakeSpank("remotee")),  # type: ignore[arg-type]
        (ValueError, "no callback 'taskinit'; nearest: task_init", lambda: FakeSpank(callback="taskinit")),
        (ValueError, "no option 'great'; nearest: greet", lambda: run(path, "spank.init", options={"great": "x"})),
        (TypeError, "has no argument 'job'; it has: spank", lambda: run(path, "spank.init", job=FakeJob())),
        (TypeError, "has no argument 'spank'; it has: none", lambda: run(path, "job_submit.init", spank=FakeSpank())),
        (TypeError, "options are for SPANK", lambda: run(path, "job_submit", options={"greet": "x"})),
        (
            ValueError,
            "task_init in remote, not in local",
            lambda: run(path, "spank.task_init", spank=FakeSpank("local")),
        ),
    ]
    for error, message, use in wrong:
        with pytest.raises(error) as caught:
            use()
        assert message in str(caught.value)


def test_a_hook_without_a_handler(hooks: Callable[[str], Path]) -> None:
    """A misspelled hook, or a forgotten decorator, does not pass for a handler that accepts."""
    path = hooks("@hook.job_submit\ndef handler(job): pass\n")
    with pytest.raises(ValueError, match=r"no handler of hook.job_modify in .*; it has handlers of: job_submit"):
        run(path, "job_modify")
    with pytest.raises(ValueError, match="it has handlers of: nothing"):
        run(hooks("def handler(job): pass\n"), "job_submit")
    assert run(hooks('hook.spank.option("x", usage="")'), "spank.init", options={"x": True}).accepted


def test_actions_of_periodic_rules(hooks: Callable[[str], Path]) -> None:
    """The log has what a rule would do; beyond at_most, and after a failure, it does nothing."""
    path = hooks(
        "@hook.every('5m', at_most=2)\n"
        "def idle(jobs, nodes):\n"
        "    for job in jobs.values():\n"
        "        job.cancel('idle')\n"
        "    nodes['n1'].drain('sick')\n"
        "    if len(jobs) == 5: raise RuntimeError('broken')\n"
    )
    nodes = fake_nodes({"n1": {}})
    drained = "info: drain node n1: sick (hooks:idle)"
    for users, expected in (
        ((1,), ["info: cancel job 1: idle", drained]),
        (
            (1, 1, 1, 2),
            [
                "info: too many actions: 3 actions on jobs of user 1, and at_most=2: none of them is taken",
                "info: cancel job 4: idle",
                drained,
            ],
        ),
        (
            (1, 2, 3),
            ["info: too many actions: none of the 4 actions is taken: actions on jobs of 3 users, and at_most=2"],
        ),
    ):
        jobs = fake_jobs([FakeRecord(job_id=number, user_id=user) for number, user in enumerate(users, 1)])
        result = run(path, "every", jobs=jobs, nodes=nodes)
        assert (result.accepted, result.log) == (True, expected)
    jobs = fake_jobs([FakeRecord(job_id=number) for number in range(1, 6)])
    failed = run(path, "every", jobs=jobs, nodes=nodes)
    assert not failed.accepted
    assert not any(line.startswith("info: cancel") for line in failed.log)


@pytest.mark.parametrize(
    "name", [name for name, spec in HOOKS.items() if not (name.startswith("spank.") or spec.is_periodic)]
)
def test_options_outside_of_spank(hooks: Callable[[str], Path], name: str) -> None:
    """A handler of another plugin point that reads the value of an option fails, as in Slurm, and reads why."""
    for attribute in ("value", "given", "values"):
        path = hooks(
            f"""
greet = hook.spank.option("greet", usage="for a test")

@hook.{name}
def handler():
    greet.{attribute}
"""
        )
        result = run(path, name)
        assert result.error_id is not None
        assert f"--greet has no .{attribute} here" in result.errors[0].text


def test_a_handler_that_ends_its_process(tmp_path: Path) -> None:
    """os._exit() is a bug of the handler, or a finding on its file; only children may call it."""
    path = tmp_path / "site.py"
    exits = "import os\nfrom slurmhooks import hook\n@hook.job_submit\ndef exits(job):\n    {}os._exit(0)\n"
    path.write_text(exits.format(""))
    result = run(path, "job_submit")
    assert not result.accepted
    assert result.errors[0].text.endswith("SystemExit: os._exit(0): a handler must not end its process")
    path.write_text(exits.format("if os.fork(): os.wait()\n    else: "))
    assert run(path, "job_submit").accepted
    path.write_text("import os\nos._exit(0)\n")
    with pytest.raises(LoadError, match=r"a handler must not end its process"):
        run(path, "job_submit")
