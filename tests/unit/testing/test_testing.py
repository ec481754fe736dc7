# SPDX-License-Identifier: GPL-2.0-or-later
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from slurmhooks.errors import LoadError, StaleHandleError
from slurmhooks.hook_specs import HOOKS
from slurmhooks.job_submit.constants import NodeState
from slurmhooks.log import log
from slurmhooks.scrun import CommandResult
from slurmhooks.testing import (
    FakeContainer,
    FakeJob,
    FakeRecord,
    FakeSpank,
    fake_jobs,
    fake_partitions,
    fake_reservations,
    run,
)
from slurmhooks.values import UNLIMITED

Write = Callable[..., Path]


@pytest.fixture
def hooks(write: Write) -> Callable[[str], Path]:
    """Return a function that writes a hook file."""

    def make(source: str) -> Path:
        return write("hooks.py", "from slurmhooks import Reject, hook, log\n" + source)

    return make


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
    result = run(hooks(f"@hook.{hook}\ndef handler({arguments}): log.info('ran')\n"), hook)
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


def test_values_are_checked_as_in_slurm() -> None:
    """A stand-in refuses values that Slurm could not have."""
    for error, fields in ((ValueError, {"time_limit": -1}), (TypeError, {"account": 5}), (ValueError, {"name": "\0"})):
        with pytest.raises(error):
            FakeJob(**fields)


# job_submit.


def test_what_handlers_get_of_slurmctld(hooks: Callable[[str], Path]) -> None:
    """Tables and the record come from the test, as dicts or as tables."""
    path = hooks(
        """
@hook.job_modify
def handler(job, record, modify_uid, partitions, reservations, jobs):
    found = [record.job_id, modify_uid, partitions["debug"].max_time, len(reservations), list(jobs)]
    job.comment = " ".join(map(str, found))
"""
    )
    partitions = {"debug": {"max_time": UNLIMITED}}
    reservations: dict[str, dict[str, object]] = {"maint": {}}
    jobs = [FakeRecord(job_id=5), FakeRecord(job_id=6)]
    record = FakeRecord(job_id=9, user_id=77)
    expected = {"comment": "9 77 UNLIMITED 1 [5, 6]"}
    as_dicts = run(path, "job_modify", record=record, partitions=partitions, reservations=reservations, jobs=jobs)
    assert as_dicts.changes == expected
    tables = {"partitions": fake_partitions(partitions), "reservations": fake_reservations(reservations)}
    for _ in range(2):
        result = run(path, "job_modify", record=record, jobs=fake_jobs(jobs), **tables)  # type: ignore[arg-type]
        assert result.changes == expected


def test_all_tables_of_slurmctld(hooks: Callable[[str], Path]) -> None:
    """Nodes, licenses, QOS and associations have the test's values; omitted ones are unset or absent."""
    path = hooks(
        """
from slurmhooks import UNLIMITED

@hook.job_submit
def handler(job, nodes, licenses, qos, associations):
    node, license, high = nodes["n1"], licenses["matlab"], qos["high"]
    log.info("%s", [node.cpus, node.partitions, node.reason, node.state, len(nodes)])
    log.info("%s", [license.total, license.used])
    log.info("%s", [high.usage_factor, high.limit_factor, high.max_wall_pj is UNLIMITED, high.preempt, high.grp_tres])
    log.info("%s", [(found.id, found.user) for found in associations.where(account="physics") if found.qos])
"""
    )
    result = run(
        path,
        "job_submit",
        nodes={"n1": {"cpus": 8, "partitions": ["a", "b"], "state": NodeState.NODE_STATE_IDLE}},
        licenses={"matlab": {"total": 5, "used": 2}},
        qos={"high": {"usage_factor": 2.5, "max_wall_pj": UNLIMITED, "preempt": ["low"]}},
        associations=[
            {"account": "physics", "user": "alice", "qos": ["high"]},
            {"account": "physics", "user": "bob"},
            {"account": "maths", "user": "alice", "qos": ["high"]},
        ],
    )
    assert result.accepted, result
    assert result.log == [
        "info: [8, ['a', 'b'], None, <NodeState.NODE_STATE_IDLE: 2>, 1]",
        "info: [5, 2]",
        "info: [2.5, None, True, ['low'], None]",
        "info: [(1, 'alice')]",
    ]


def test_an_update_names_no_user(hooks: Callable[[str], Path]) -> None:
    """In an update the user of the request is unset, unless the test gives one."""
    path = hooks("@hook.job_modify\ndef handler(job): log.info('%s', job.user_id)\n")
    assert run(path, "job_modify").log == ["info: None"]
    assert run(path, "job_modify", job=FakeJob(user_id=5)).log == ["info: 5"]


def test_views_are_stale_after_the_run(hooks: Callable[[str], Path]) -> None:
    """A view that a handler keeps is stale after the call; the stand-ins of the test are not."""
    path = hooks(
        """
kept = []
@hook.job_modify
def handler(job, record, partitions):
    kept.extend([job, record, partitions["debug"]])
"""
    )
    job, record, partitions = FakeJob(name="x"), FakeRecord(name="y"), fake_partitions({"debug": {}})
    assert run(path, "job_modify", job=job, record=record, partitions=partitions).accepted
    for view in sys.modules["slurmhooks_site.hooks"].kept:
        with pytest.raises(StaleHandleError):
            view.name  # noqa: B018
    assert (job.name, record.name, partitions["debug"].name) == ("x", "y", "debug")


def test_a_job_can_be_submitted_and_then_changed(hooks: Callable[[str], Path]) -> None:
    """A stand-in can be used in several runs, and the test may change it in between."""
    path = hooks("@hook.job_submit\ndef handler(job): job.comment = (job.comment or '') + (job.account or '')\n")
    job = FakeJob(account="a")
    assert run(path, "job_submit", job=job).changes == {"comment": "a"}
    job.account = "b"
    assert run(path, "job_submit", job=job).changes == {"comment": "ab"}
    assert job.comment == "ab"


def test_changes_of_environments_and_arguments(hooks: Callable[[str], Path]) -> None:
    """Changes of an environment are its changed variables, None for a removed one; of argv, the whole list."""
    path = hooks(
        """
@hook.job_submit
def handler(job):
    job.environment["NEW"] = "1"
    job.environment["PATH"] = "/opt"
    del job.environment["HOME"]
    job.environment["SAME"] = "x"
    job.argv = ["wrapper", *job.argv]
    job.min_mem_per_cpu = 100
"""
    )
    env = {"PATH": "/bin", "HOME": "/root", "SAME": "x"}
    result = run(path, "job_submit", job=FakeJob(script="#!/bin/sh", environment=env, argv=["a"], min_mem_per_node=5))
    assert result.changes == {
        "environment": {"PATH": "/opt", "HOME": None, "NEW": "1"},
        "argv": ["wrapper", "a"],
        "min_mem_per_cpu": 100,
    }


def test_fields_that_slurmctld_computes() -> None:
    """Computed fields have the values that the test gives."""
    job = FakeJob(user_name="alice", default_account="physics", groups={"wheel": 10})
    assert (job.user_name, job.default_account, job.groups) == ("alice", "physics", {"wheel": 10})


# SPANK.


def test_contexts(hooks: Callable[[str], Path]) -> None:
    """Handlers run in their contexts only; the default is the first in which Slurm makes the call."""
    path = hooks("@hook.spank.init(contexts='remote')\ndef handler(spank): log.info(spank.context)\n")
    assert run(path, "spank.init").log == []
    assert run(path, "spank.init", spank=FakeSpank("remote")).log == ["info: remote"]


def test_items_are_refused_as_by_slurm(hooks: Callable[[str], Path]) -> None:
    """An item in a context without it raises SpankError, as on a cluster."""
    result = run(hooks("@hook.spank.init\ndef handler(spank): spank.task_id\n"), "spank.init")
    assert not result.accepted
    assert "ESPANK_NOT_REMOTE" in repr(result)


def test_changes_of_a_task(hooks: Callable[[str], Path]) -> None:
    """The result has changes of the environment and of the task's command."""
    path = hooks(
        """
@hook.spank.task_init
def handler(spank):
    spank.env["A"] = spank.args[0]
    spank.env.pop("B")
    spank.prepend_task_argv(["time"])
"""
    )
    spank = FakeSpank(env={"B": "x"}, args=["one"])
    result = run(path, "spank.task_init", spank=spank)
    assert result.changes == {"env": {"B": None, "A": "one"}, "prepended_task_argv": ["time"]}
    assert spank.env == {"A": "one"}


OPTIONS = """
name = hook.spank.option("name", "NAME", usage="")
number = hook.spank.option("number", "N", usage="", type=int, contexts=["local", "remote"])
flag = hook.spank.option("flag", usage="")
level = hook.spank.option("level", "N", usage="", optional=True)

@number.check
def small(value):
    if value > 9:
        raise Reject("too large", code="ESPANK_BAD_ARG")
    return value * 10

@hook.spank.init
@hook.spank.job_prolog
def handler(spank):
    log.info("%s", [name.value, number.value, flag.value, level.value])
"""


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, [None, None, None, None]),
        ({"name": "x", "number": "7", "flag": True, "level": True}, ["x", 70, True, True]),
        ({"level": "3"}, [None, None, None, "3"]),
    ],
)
def test_options(hooks: Callable[[str], Path], given: dict[str, str | bool], seen: list[object]) -> None:
    """Options have the values to which their types and checks convert the text."""
    assert run(hooks(OPTIONS), "spank.init", options=given).log == [f"info: {seen}"]


def test_options_are_known_in_their_contexts(hooks: Callable[[str], Path]) -> None:
    """An option has no value in a context in which it does not exist."""
    result = run(hooks(OPTIONS), "spank.job_prolog", options={"name": "x", "number": "7"})
    assert result.log == ["info: ['x', None, None, None]"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"number": "many"}, "--number: invalid literal for int() with base 10: 'many'"),
        ({"number": "10"}, "--number: too large"),
    ],
)
def test_a_refused_option(hooks: Callable[[str], Path], given: dict[str, str | bool], text: str) -> None:
    """An argument that the type or the check refuses is the refusal of srun; no handler runs."""
    result = run(hooks(OPTIONS), "spank.init", options=given)
    assert (result.accepted, result.code, result.text, result.log) == (False, "ESPANK_BAD_ARG", text, [])


@pytest.mark.parametrize("given", [{"flag": "x"}, {"name": True}, {"name": 5}, {"flag": False}])
def test_options_that_srun_could_not_be_given(hooks: Callable[[str], Path], given: dict[str, Any]) -> None:
    """An argument of a wrong kind for an option is an error of the test."""
    with pytest.raises(ValueError, match="takes"):
        run(hooks(OPTIONS), "spank.init", options=given)


# scrun.


def test_commands_are_noted_and_not_run(hooks: Callable[[str], Path]) -> None:
    """Commands are recorded, and the test gives their results."""
    path = hooks(
        """
@hook.scrun.stage_in
def handler(container):
    if container.allocator_command(["cp", "-r", "a b", "c"]).status:
        raise Reject("cannot copy")
    log.info(container.remote_command("id -u").output)
"""
    )
    container = FakeContainer(command=lambda where, text: CommandResult(0, f"{where} {text}"))
    assert run(path, "scrun.stage_in", container=container).log == ["info: remote_command id -u"]
    assert container.commands == [("allocator_command", "cp -r 'a b' c"), ("remote_command", "id -u")]
    failing = FakeContainer(command=lambda where, text: CommandResult(1, ""))
    assert run(path, "scrun.stage_in", container=failing).text == "cannot copy"


def test_changes_of_a_container(hooks: Callable[[str], Path]) -> None:
    """The result has the paths that handlers set, and stage_out sees them."""
    path = hooks(
        """
@hook.scrun.stage_in
def stage_in(container):
    container.bundle = "/moved/" + container.id
    container.root_path = container.bundle + "/rootfs"
    container.job_env["A"] = "1"

@hook.scrun.stage_out
def stage_out(container):
    log.info("%s %s", container.root_path, container.job_env["A"])
"""
    )
    container = FakeContainer("c1", bundle=Path("/given"))
    changes = {"bundle": "/moved/c1", "root_path": "/moved/c1/rootfs", "job_env": {"A": "1"}}
    assert run(path, "scrun.stage_in", container=container).changes == changes
    assert (container.bundle, container.orig_bundle) == ("/moved/c1", "/given")
    assert run(path, "scrun.stage_out", container=container).log == ["info: /moved/c1/rootfs 1"]


def test_a_cancelled_container(hooks: Callable[[str], Path]) -> None:
    """A handler can check for cancellation; a cancelled container is refused in the end."""
    path = hooks("@hook.scrun.stage_in\ndef handler(container): log.info('%s', container.cancelled)\n")
    result = run(path, "scrun.stage_in", container=FakeContainer(cancelled=True))
    assert result.log == ["info: True"]
    assert not result.accepted
    assert result.text is not None
    assert "cancelled" in result.text
    assert run(path, "scrun.stage_in").log == ["info: False"]


def test_a_bug_that_passes_is_seen(hooks: Callable[[str], Path]) -> None:
    """on_error="accept" accepts the request, and a test can tell that from a handler without a bug."""
    path = hooks("@hook.job_submit(on_error='accept')\ndef handler(job):\n    raise ValueError('here')\n")
    result = run(path, "job_submit")
    assert result.accepted
    assert result.error_id is not None
    assert result.error_id in result.user_messages[0]
    assert "ValueError: here" in repr(result)


def test_a_hook_without_a_handler(hooks: Callable[[str], Path]) -> None:
    """A misspelled hook, or a forgotten decorator, does not pass for a handler that accepts."""
    path = hooks("@hook.job_submit\ndef handler(job): pass\n")
    with pytest.raises(ValueError, match=r"no handler of hook.job_modify in .*; it has handlers of: job_submit"):
        run(path, "job_modify")
    with pytest.raises(ValueError, match="it has handlers of: nothing"):
        run(hooks("def handler(job): pass\n"), "job_submit")
    assert run(hooks('hook.spank.option("x", usage="")'), "spank.init", options={"x": True}).accepted


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
    assert (result.accepted, result.code, result.text) == (False, None, "no")
    assert result.error_id is not None
    assert "nearest: ESLURM_INVALID_ACCOUNT" in repr(result)
