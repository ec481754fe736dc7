# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples run, and do what the pages say about them."""

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from slurmhooks.config import model as config
from slurmhooks.handlers import loader
from slurmhooks.job_submit.constants import NodeState, NodeStateFlag
from slurmhooks.rules import source as rules_source
from slurmhooks.testing import FakeContainer, FakeJob, FakeOptions, FakeRecord, FakeSpank, run
from slurmhooks.values import UNLIMITED
from tests.project.docs_pages import EXAMPLES, PAGES, TEXT


def example(name: str) -> Path:
    """Return an example's file."""
    return EXAMPLES / f"{name}.py"


@pytest.fixture
def private_tmp() -> Iterator[ModuleType]:
    """The example of that name as an imported module, which keeps its globals from call to call as in slurmstepd."""
    spec = importlib.util.spec_from_file_location("private_tmp", example("private_tmp"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["private_tmp"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["private_tmp"]


def test_examples_are_short_and_shown() -> None:
    """Each example fits a page, loads, and is in the documentation."""
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) <= (112 if path.stem == "containers" else 60), path
        assert loader.load([loader.Source(path=str(path))]).all_handlers(), path
        assert path.name == "hello.py" or f"contrib/examples/{path.name}" in TEXT, path


def test_hello() -> None:
    """The README's file: jobs name an account, a task is greeted, containers come from a shared folder."""
    assert run(example("hello"), "job_submit", job=FakeJob()).code == "ESLURM_INVALID_ACCOUNT"
    given = run(example("hello"), "job_submit", job=FakeJob(account="physics"))
    assert given.changes == {"time_limit": 60}
    assert given.user_messages == ["no --time given: limited to 60 minutes"]

    spank = FakeSpank(items={"job_id": 7, "task_global_id": 3})
    greeted = run(example("hello"), "spank.task_init", spank=spank, options={"greet": "Ada"})
    assert greeted.changes == {"env": {"HELLO": "hello Ada, task 3 of job 7"}}

    assert run(example("hello"), "scrun.stage_in", container=FakeContainer("c", bundle=Path("/shared/box"))).accepted
    assert not run(example("hello"), "scrun.stage_in", container=FakeContainer("c", bundle=Path("/tmp/box"))).accepted


def test_default_account() -> None:
    """The first group with an account counts; a named account is kept; users in no such group must name one."""
    job = FakeJob(groups={"users": 100, "chemistry": 7, "physics": 8})
    assert run(example("default_account"), "job_submit", job=job).changes == {"account": "phys"}
    assert run(example("default_account"), "job_submit", job=FakeJob(account="mine")).changes == {}
    refused = run(example("default_account"), "job_submit", job=FakeJob(groups={"users": 100}))
    assert refused.code == "ESLURM_INVALID_ACCOUNT"


def test_partition_time_limits() -> None:
    """Jobs without a time limit get the partition's; longer ones are refused."""
    short = FakeJob(partition="debug,day")
    result = run("contrib/examples/partition_time_limits.py", "job_submit", job=short)
    assert result.accepted
    assert result.changes == {"time_limit": 30}

    long = FakeJob(partition="day", time_limit=UNLIMITED)
    result = run("contrib/examples/partition_time_limits.py", "job_submit", job=long)
    assert not result.accepted
    assert result.text == "the longest time in day is 1-00:00:00"
    assert result.code == "ESLURM_INVALID_TIME_LIMIT"


def test_a_ready_made_rule(tmp_path: Path) -> None:
    """A rule of slurmhooks.toml refuses jobs that are too long."""
    path = tmp_path / "slurmhooks.toml"
    path.write_text('[[rule]]\nrule = "time_ceiling"\nlimit = "30:00"\n')
    registry = loader.load(rules_source.sources(config.read(path), path))
    assert run(registry, "job_submit", job=FakeJob(time_limit=30)).accepted
    assert run(registry, "job_submit", job=FakeJob(time_limit=31)).code == "ESLURM_INVALID_TIME_LIMIT"


@pytest.mark.parametrize(
    ("asked", "partition", "wanted"),
    [
        ({"tres_per_node": "gres/gpu:a100:2"}, None, "gpu"),
        ({"tres_per_node": "gres:gpu:2"}, None, "gpu"),
        ({"tres_per_job": "gres/gpu:1"}, "debug", "debug"),
        ({"tres_per_task": "cpu:4"}, None, None),
    ],
)
def test_gpu_partition(asked: dict[str, str], partition: str | None, wanted: str | None) -> None:
    """A job that asks for a GPU and names no partition gets the partition with GPUs."""
    job = FakeJob(partition=partition, **asked)
    assert run(example("gpu_partition"), "job_submit", job=job).accepted
    assert job.partition == wanted


def test_gpu_partition_is_for_gpus() -> None:
    """Without a GPU the partition is refused, even as one of several."""
    result = run(example("gpu_partition"), "job_submit", job=FakeJob(partition="debug,gpu"))
    assert result.text == "partition gpu is for jobs that ask for GPUs: add --gpus=1"


def test_gpu_partition_reads_what_slurm_reads() -> None:
    """An invalid list of TRES is refused, and the text says what is wrong with it."""
    result = run(example("gpu_partition"), "job_submit", job=FakeJob(tres_per_node="gres/gpu:("))
    assert (result.accepted, result.code) == (False, "ESLURM_INVALID_TRES")
    assert result.text == "not a list of TRES: 'gres/gpu:('; parentheses do not match"


ASSOCIATIONS = (
    {"user_id": 1000, "account": "physics", "is_default": True, "qos": ["normal", "high"]},
    {"user_id": 1000, "account": "physics", "partition": "gpu", "qos": ["long"]},
    {"user_id": 1000, "account": "maths", "qos": ["normal"]},
    {"user_id": 1001, "account": "physics", "is_default": True, "qos": ["secret"]},
)


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({}, None),
        ({"qos": "high"}, None),
        ({"qos": "high", "account": "maths"}, "normal"),
        ({"qos": "long"}, "high, normal"),
        ({"qos": "long", "partition": "debug,gpu"}, None),
        ({"qos": "secret"}, "high, normal"),
        ({"qos": "secret", "user_id": 1001}, None),
        ({"qos": "secret", "account": "nobodys"}, None),
    ],
)
def test_allowed_qos(asked: dict[str, Any], allowed: str | None) -> None:
    """A QOS of another account, partition or user is refused with a list; other invalid ones are left to Slurm."""
    result = run(example("allowed_qos"), "job_submit", job=FakeJob(**asked), associations=ASSOCIATIONS)
    assert result.accepted == (allowed is None)
    assert result.code == (None if allowed is None else "ESLURM_INVALID_QOS")
    assert allowed is None or (result.text or "").endswith(f"you may use: {allowed}")


IDLE = NodeState.NODE_STATE_IDLE
BROKEN = {"state": NodeState.NODE_STATE_DOWN}
DRAINED = {"state": IDLE, "state_flags": NodeStateFlag.NODE_STATE_DRAIN}


@pytest.mark.parametrize(
    ("large", "gres_used", "partition", "wanted"),
    [
        ({"state": IDLE}, None, None, "gpu_large"),
        ({"state": IDLE}, "gpu:a100:3(IDX:0-2)", None, "gpu_small"),
        (BROKEN, None, None, "gpu_small"),
        (DRAINED, None, None, "gpu_small"),
        ({"state": IDLE}, None, "debug", "debug"),
    ],
)
def test_free_gpus(large: dict[str, Any], gres_used: str | None, partition: str | None, wanted: str) -> None:
    """Free GPUs of nodes in service decide; a partition that the user names stays."""
    nodes = {
        "n1": {"state": IDLE, "gres": "gpu:2(S:0)", "partitions": ["debug", "gpu_small"]},
        "n2": {"gres": "gpu:a100:4", "gres_used": gres_used, "partitions": ["gpu_large"], **large},
    }
    job = FakeJob(partition=partition, tres_per_node="gres/gpu:1")
    assert run(example("free_gpus"), "job_submit", job=job, nodes=nodes).accepted
    assert job.partition == wanted
    job = FakeJob()
    assert run(example("free_gpus"), "job_submit", job=job, nodes=nodes).accepted
    assert job.partition is None


def test_no_interactive() -> None:
    """A partition for batch jobs accepts no job of srun or salloc, but all components of batch jobs."""
    refused = run(example("no_interactive"), "job_submit", job=FakeJob(partition="debug,night"))
    assert refused.text == "partition night takes batch jobs only: use sbatch"
    assert run(example("no_interactive"), "job_submit", job=FakeJob(partition="night", script="#!/bin/sh\n")).accepted
    component = FakeJob(partition="night", het_job_offset=1, environment={"PATH": "/bin"})
    assert run(example("no_interactive"), "job_submit", job=component).accepted
    assert run(example("no_interactive"), "job_submit", job=FakeJob()).accepted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("0-9", "0-9"), ("1-100", "1-100%50"), ("1-100%80", "1-100%80"), (None, None)],
)
def test_array_limits(given: str | None, wanted: str | None) -> None:
    """Large arrays are throttled if their users do not do so."""
    job = FakeJob(array_inx=given)
    assert run(example("array_limits"), "job_submit", job=job).accepted
    assert job.array_inx == wanted


def test_array_limits_refuse() -> None:
    """Arrays that are too large are refused, without counting task by task."""
    result = run(example("array_limits"), "job_submit", job=FakeJob(array_inx="0-3999999,0-3999999"))
    assert result.text == "a job array may have 1000 tasks, not 4000000"
    result = run(example("array_limits"), "job_submit", job=FakeJob(array_inx="nonsense"))
    assert result.text == "not an array specification: 'nonsense'; 'nonsense' is not a range of tasks"


def test_comment_from_environment() -> None:
    """The variable becomes the comment, unless the user gave one; srun sends no environment."""
    script: dict[str, Any] = {"script": "#!/bin/sh\n", "environment": {"TICKET": "42"}}
    assert run(example("comment_from_environment"), "job_submit", job=FakeJob(**script)).changes == {
        "comment": "ticket 42"
    }
    assert run(example("comment_from_environment"), "job_submit", job=FakeJob(comment="x", **script)).changes == {}
    assert run(example("comment_from_environment"), "job_submit", job=FakeJob()).changes == {}


@pytest.mark.parametrize(
    ("asked", "now", "uid", "accepted"),
    [(120, 60, 1000, False), (30, 60, 1000, True), (120, 60, 0, True), (None, 60, 1000, True), (120, None, 1000, True)],
)
def test_no_extension(asked: int | None, now: int | None, uid: int, accepted: bool) -> None:
    """Users may shorten a job; only root may extend it."""
    job, record = FakeJob(time_limit=asked), FakeRecord(time_limit=now)
    result = run(example("no_extension"), "job_modify", job=job, record=record, modify_uid=uid)
    assert result.accepted is accepted


def test_held_for_review() -> None:
    """A large job is held; its user cannot release it, root can, and other updates pass."""
    path = example("held_for_review")
    assert run(path, "job_submit", job=FakeJob(min_nodes=100)).changes == {}
    held = run(path, "job_submit", job=FakeJob(min_nodes=101)).changes
    assert held == {"priority": 0, "admin_comment": "held for review"}
    record = FakeRecord(admin_comment=held["admin_comment"], min_nodes=101, priority=0)
    for job, uid, accepted in (({"priority": 1}, 7, False), ({"priority": 1}, 0, True), ({"name": "x"}, 7, True)):
        result = run(path, "job_modify", job=FakeJob(**job), record=record, modify_uid=uid)
        assert result.accepted is accepted
    released = run(path, "job_modify", job=FakeJob(priority=1), record=record, modify_uid=0).changes
    assert released == {"admin_comment": "reviewed"}


def test_option_default() -> None:
    """Commands get a default unless the user has set the variable; so do batch jobs of clients without it."""
    name = "SLURM_SPANK__SLURM_SPANK_OPTION_python_gpu_mode"
    path = example("option_default")
    for environment, mode in (({}, "shared"), ({name: "exclusive"}, "exclusive")):
        options = FakeOptions(spank={"python": {"gpu-mode": None}}, environment=environment)
        assert run(path, "cli_filter.setup_defaults", options=options).accepted
        assert options.environment[name] == mode
    job = FakeJob(script="#!/bin/sh\n")
    assert run(path, "job_submit", job=job).changes["spank_job_env"] == {name.removeprefix("SLURM_SPANK_"): "shared"}
    assert run(path, "job_submit", job=job).changes == {}
    assert run(path, "job_submit", job=FakeJob()).changes == {}


def test_private_tmp(private_tmp: ModuleType) -> None:
    """The folder exists for the tasks, is private to the user, and is removed when the step has ended."""
    assert run(private_tmp, "spank.user_init").accepted
    step = FakeSpank("remote")
    assert run(private_tmp, "spank.task_init", spank=step).accepted
    folder = Path(step.env["TMPDIR"])
    assert folder.stat().st_mode & 0o7777 == 0o700
    (folder / "left behind").touch()
    assert run(private_tmp, "spank.exit", spank=FakeSpank("remote")).accepted
    assert not folder.exists()


def test_private_tmp_of_an_extern_step(private_tmp: ModuleType) -> None:
    """A step without tasks gets no folder, and none is removed."""
    assert private_tmp.place == ""
    assert run(private_tmp, "spank.exit", spank=FakeSpank("remote")).accepted


def test_option_choices() -> None:
    """An abbreviation is accepted, anything else is refused, and without the option nothing happens."""
    assert run(example("option_choices"), "spank.task_init", options={"gpu-mode": "EX"}).changes == {
        "env": {"SITE_GPU_MODE": "exclusive"}
    }
    refused = run(example("option_choices"), "spank.task_init", options={"gpu-mode": "none"})
    assert refused.text == "--gpu-mode: 'none' is not one of shared, exclusive"
    assert refused.text in PAGES["options"]
    assert run(example("option_choices"), "spank.task_init").changes == {}


def test_job_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prolog creates the job's folder for its owner; the epilog removes it, if there was a prolog."""
    file = tmp_path / "job_scratch.py"
    file.write_text(example("job_scratch").read_text().replace('"/scratch"', repr(str(tmp_path))))
    owners = []
    monkeypatch.setattr(os, "chown", lambda path, *owner: owners.append((path, *owner)))
    job = FakeSpank("job_script", items={"job_id": 7, "job_uid": 1001, "job_gid": 1002})
    assert run(file, "spank.job_prolog", spank=job).accepted
    assert owners == [(str(tmp_path / "7"), 1001, 1002)]
    (tmp_path / "7" / "left behind").touch()
    assert run(file, "spank.job_epilog", spank=job).accepted
    assert not (tmp_path / "7").exists()
    again = run(file, "spank.job_epilog", spank=job)
    assert again.accepted
    assert again.log == []


def test_early_limits() -> None:
    """One rule refuses, and fills in, in both places; post_submit tells a value that pre_submit has kept."""
    path = example("early_limits")
    for hook, request in (
        ("job_submit", lambda **fields: {"job": FakeJob(**fields)}),
        ("cli_filter.pre_submit", lambda **fields: {"options": FakeOptions(**fields)}),
    ):
        refused = run(path, hook, **request(partition="debug", time_limit=61))
        assert refused.text == "partition debug takes at most 60 minutes: lower --time"
        assert run(path, hook, **request(partition="debug")).changes in ({"time_limit": 60}, {"time": "01:00:00"})
        assert run(path, hook, **request(partition="long", time_limit=100)).changes == {}
    registry = loader.load([loader.Source(path=str(path))])
    for partition, told in (("night", ["info: job may run 720 minutes job=7"]), ("long", [])):
        assert run(registry, "cli_filter.pre_submit", options=FakeOptions(partition=partition), offset=1).accepted
        assert run(registry, "cli_filter.post_submit", job_id=7, offset=1).log == told


def test_scrun_staging(tmp_path: Path) -> None:
    """The job gets a copy that a rootless runtime accepts; the user's bundle is unchanged."""
    bundle, shared = tmp_path / "bundle", tmp_path / "shared"
    (bundle / "rootfs").mkdir(parents=True)
    (bundle / "rootfs" / "a file").write_text("content")
    written = {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs"},
        "linux": {"cgroupsPath": "/x"},
        "process": {"cwd": "/"},
    }
    (bundle / "config.json").write_text(json.dumps(written))
    file = tmp_path / "scrun_staging.py"
    file.write_text(example("scrun_staging").read_text().replace('"/shared/containers"', repr(str(shared))))

    container = FakeContainer("box", bundle=bundle, user_id=1001)
    assert run(file, "scrun.stage_in", container=container).accepted
    assert container.bundle == str(shared / "1001-box")
    assert container.root_path == str(shared / "1001-box" / "rootfs")
    assert (shared / "1001-box" / "rootfs" / "a file").read_text() == "content"
    staged = json.loads((shared / "1001-box" / "config.json").read_text())
    assert "cgroupsPath" not in staged["linux"]
    assert json.loads((bundle / "config.json").read_text()) == written

    ended = FakeContainer("box", bundle=shared / "1001-box", orig_bundle=bundle, user_id=1001)
    assert run(file, "scrun.stage_out", container=ended).accepted
    assert not (shared / "1001-box").exists()
    assert run(file, "scrun.stage_out", container=FakeContainer("box", bundle=bundle)).accepted
    assert bundle.exists()
