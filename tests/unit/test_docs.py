# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation is correct, and its examples run."""

import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from docs import generate
from docs.command_line import commands
from slurmhooks import cli, config, loader
from slurmhooks.hook_specs import COMMANDS, CONTEXTS, HOOKS
from slurmhooks.job_submit import constants, model
from slurmhooks.job_submit.constants import NodeState, NodeStateFlag
from slurmhooks.policies import rules as policies
from slurmhooks.policies import source as policies_source
from slurmhooks.slurmctld import fields, rows
from slurmhooks.spank import callbacks
from slurmhooks.spank import fields as spank_fields
from slurmhooks.spank.model import Spank
from slurmhooks.testing import FakeContainer, FakeJob, FakeOptions, FakeRecord, FakeSpank, run
from slurmhooks.values import UNLIMITED

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
EXAMPLES = PROJECT / "contrib" / "examples"

PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text()
    for path in (*DOCS.glob("*.md"), *DOCS.glob("decisions/*.md"))
}
REFERENCE = generate.pages()
TEXT = "\n".join(PAGES.values())
SOURCES = "\n".join(
    path.read_text()
    for folder in ("slurmhooks", "native", "tests/bench", "tests/cluster")
    for path in (PROJECT / folder).rglob("*")
    if path.suffix in (".py", ".c", ".h")
)


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


# The pages.


def test_pages_are_in_a_toctree() -> None:
    """Every page can be reached from the first one."""
    listed = [
        line.strip()
        for text in (PAGES["index"], (DOCS / "reference" / "index.md").read_text())
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
        if line.strip() and not line.startswith(":")
    ]
    assert sorted(listed) == sorted([*(PAGES.keys() - {"index"}), "reference/index", *REFERENCE])


def test_links_lead_somewhere() -> None:
    """Every link to a page or to a heading has its target; forges and MyST create the same anchors for headings."""
    pages = {**PAGES, **{f"reference/{name}": text for name, text in REFERENCE.items()}}
    for source, text in pages.items():
        for page, anchor in re.findall(r"\]\((?!https?:)(?:([^)#]*)\.md)?(?:#([\w-]+))?\)", text):
            target = os.path.normpath(os.path.join(os.path.dirname(source), page)) if page else source
            assert target in pages, f"{source}: {page}"
            headings = re.findall(r"^#+ (.*)$", pages[target], re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert not anchor or anchor in slugs, f"{source}: {page}#{anchor}"


def test_has_one_sentence_a_line() -> None:
    """A line of prose ends where a sentence ends, so that a diff shows what has changed."""
    for name, text in PAGES.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for line in prose.splitlines():
            if not line.startswith("|"):
                assert not re.search(r"[a-z`)]\. [A-Z]", line), f"{name}: {line}"


def test_tables_are_whole() -> None:
    """Each row of a table has as many cells as its head; Sphinx would drop additional cells."""
    for name, text in {**PAGES, **REFERENCE}.items():
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            rows_ = [re.sub(r"\\\||`[^`]*`", "", line).count("|") for line in block.splitlines()]
            assert len(set(rows_)) == 1, f"{name}: {block}"


def test_named_hooks_exist() -> None:
    """Every ``hook.NAME`` in the pages can be written in a hook file."""
    named = set(re.findall(r"\bhook\.((?:spank|scrun|cli_filter|job_submit|job_modify)\b(?:\.\w+)?)", TEXT))
    assert named
    assert named - {"spank", "scrun", "cli_filter", "spank.option"} <= HOOKS.keys()


def test_named_contexts_exist() -> None:
    """Every context that an example or a page names is one of Slurm's."""
    examples = "".join(path.read_text() for path in EXAMPLES.glob("*.py"))
    for asked in re.findall(r"contexts=(\[[^]]*\]|\"\w+\")", TEXT + examples):
        assert set(re.findall(r"\"(\w+)\"", asked)) <= {*CONTEXTS, *COMMANDS}


def test_named_codes_exist() -> None:
    """Every error code in pages and examples is one that Slurm has, as far as our own sources know it."""
    names = set(re.findall(r"\b(ES(?:LURM|PANK)_[A-Z_]*[A-Z])\b", TEXT))
    assert names
    for name in names:
        assert name in SOURCES or getattr(constants, name), name


def test_named_attributes_exist() -> None:
    """Every attribute of job, record, spank and container that a page names exists."""
    kinds: dict[str, Any] = {
        "job": FakeJob(),
        "record": FakeRecord(),
        "spank": FakeSpank(),
        "container": FakeContainer(),
        "options": FakeOptions(),
    }
    for view, name in set(re.findall(r"(?<![\w/.])(job|record|spank|container|options)\.([a-z_]+)\b", TEXT)):
        if name in ("h", "md", "py", "sh"):  # a file
            continue
        known = dir(type(kinds[view])) + dir(kinds[view]) + list(getattr(kinds[view], "OTHERS", ()))
        known += [*getattr(kinds[view], "TEXTS", ()), *getattr(kinds[view], "NUMBERS", ())]
        assert name in known, f"{view}.{name}"


def test_shown_configuration_is_valid() -> None:
    """Every slurmhooks.toml in the pages is valid: the model refuses unknown keys."""
    import tomllib

    shown = [block for text in PAGES.values() for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    assert shown
    for block in shown:
        policies.of_config(Path("slurmhooks.toml"), config.Config.model_validate(tomllib.loads(block)))


def test_shown_commands_exist() -> None:
    """Every ``slurmhooks VERB --option`` in the pages exists."""
    context = click.Context(cli.main)
    blocks = "".join(re.findall(r"```(?:sh|console)\n(.*?)```", TEXT, re.DOTALL))
    spans = "\n".join(re.findall(r"`([^`\n]+)`", TEXT))
    known = dict(commands())
    shown = re.findall(r"(?:^|/|[#$] )slurmhooks (\w+)([^\n&]*)", f"{blocks}\n{spans}", re.MULTILINE)
    assert {verb for verb, _ in shown} >= set(cli.main.list_commands(context))
    for verb, rest in shown:
        line = f"{verb}{rest}".split(" -- ")[0]
        command = known[max((name for name in known if f"{line} ".startswith(f"{name} ")), key=len)]
        options = {name for option in command.params for name in option.opts}
        assert set(re.findall(r"--[a-z-]+", line)) <= options | {"--help"}, line


def test_named_environment_variables_exist() -> None:
    """Every variable of ours or of Slurm's configuration that the pages name is read somewhere."""
    for name in set(re.findall(r"\b(SLURMHOOKS_\w+|SLURM_CONF)\b", TEXT)):
        assert name in SOURCES, name


def test_names_files_that_exist() -> None:
    """Every file of the project that the pages name exists."""
    names = re.findall(r"(?:\{literalinclude\} \.\./|`)((?:contrib|tests|slurmhooks|native)/[\w./]+\.\w+)", TEXT)
    assert names
    assert [name for name in names if not (PROJECT / name).exists()] == []


# The reference.


def first_cells(text: str) -> list[str]:
    """Return the cells in the first column of the tables of a page."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def test_reference_has_every_hook() -> None:
    """Each hook has a row, and each callback and context has one."""
    cells = first_cells(REFERENCE["hooks"])
    assert [cell for cell in cells if cell.startswith("hook.")] == [
        f"hook.{name}" for name in sorted(HOOKS, key=lambda name: (name.startswith("spank."), name.startswith("cli_")))
    ]
    for place in callbacks.PLACES:
        assert f"| `{place.callback}` | `{place.context}` |" in REFERENCE["hooks"]


def test_reference_has_every_item() -> None:
    """Each item of spank_item_t has a row, with its type."""
    cells = [cell.partition("(")[0] for cell in first_cells(REFERENCE["spank-items"])]
    assert cells == [item.name for item in spank_fields.ITEMS]
    assert set(cells) <= set(dir(Spank))


SPANK_CALLBACKS = """
init job_prolog init_post_opt local_user_init user_init task_init_privileged task_init task_post_fork task_exit
job_epilog slurmd_exit exit
"""
SPANK_FUNCTIONS = """
spank_strerror spank_symbol_supported spank_remote spank_context spank_option_register spank_option_getopt
spank_get_item spank_getenv spank_setenv spank_unsetenv spank_job_control_getenv spank_job_control_setenv
spank_job_control_unsetenv spank_prepend_task_argv slurm_error slurm_info slurm_verbose slurm_debug slurm_debug2
slurm_debug3 slurm_spank_log slurm_spank_init_failure_mode
"""
SPANK_ITEMS = """
JOB_UID JOB_GID JOB_ID JOB_STEPID JOB_NNODES JOB_NODEID JOB_LOCAL_TASK_COUNT JOB_TOTAL_TASK_COUNT JOB_NCPUS JOB_ARGV
JOB_ENV TASK_ID TASK_GLOBAL_ID TASK_EXIT_STATUS TASK_PID JOB_PID_TO_GLOBAL_ID JOB_PID_TO_LOCAL_ID JOB_LOCAL_TO_GLOBAL_ID
JOB_GLOBAL_TO_LOCAL_ID JOB_SUPPLEMENTARY_GIDS SLURM_VERSION SLURM_VERSION_MAJOR SLURM_VERSION_MINOR SLURM_VERSION_MICRO
STEP_CPUS_PER_TASK JOB_ALLOC_CORES JOB_ALLOC_MEM STEP_ALLOC_CORES STEP_ALLOC_MEM SLURM_RESTART_COUNT JOB_ARRAY_ID
JOB_ARRAY_TASK_ID
"""


def test_reference_has_all_of_spank_h() -> None:
    """Each callback, item and function of spank.h of Slurm 26.05 has a row that says since when and where it works."""
    text = REFERENCE["spank-releases"]
    cells = first_cells(text)
    assert len(cells) == len(set(cells))
    assert set(cells) == {
        *(f"slurm_spank_{name}" for name in SPANK_CALLBACKS.split()),
        *(f"S_{name}" for name in SPANK_ITEMS.split()),
        *SPANK_FUNCTIONS.split(),
    }
    for row in re.findall(r"^\| `\w+` .*\|$", text, re.MULTILINE):
        _, _, _, since, *contexts, _ = row.split("|")
        assert re.fullmatch(r" \d\d\.\d\d ", since), row
        assert len(contexts) == len(CONTEXTS)
        assert any(cell.strip() for cell in contexts), row
    assert "| `slurm_spank_init` | `hook.spank.init` | 22.05 | yes | yes | yes | yes |  |" in text
    assert "| `spank_prepend_task_argv` | `spank.prepend_task_argv(argv)` | 23.11 |" in text
    assert "| `slurm_spank_init_failure_mode` | `init_failure_mode= in plugstack.conf` | 25.05 |" in text


@pytest.mark.parametrize(("name", "view"), fields.TABLES.items())
def test_reference_has_every_field(name: str, view: type) -> None:
    """Each field of each view has a row with a description."""
    section = REFERENCE["job-fields"].split(f"\n## {name}\n")[1].split("\n## ")[0]
    cells = first_cells(section)
    wanted = set(rows.rows(view)) | ({"argv", "environment", "spank_job_env"} if view is fields.JobFields else set())
    assert len(cells) == len(set(cells))
    assert set(cells) == wanted
    for row in rows.rows(view).values():
        assert row.doc in section
    assert set(cells) <= set(dir(getattr(model, name.capitalize())))


def test_reference_has_every_constant() -> None:
    """Each member of each enumeration has a row."""
    assert set(first_cells(REFERENCE["constants"])) == {
        item for kind in constants.KINDS.values() for item in kind.__members__
    }


def test_reference_has_every_key() -> None:
    """Each key of slurmhooks.toml has a row, below its section."""
    for name, section in config.sections().items():
        part = REFERENCE["configuration"].split(f"\n## [{name}]\n")[1].split("\n## ")[0]
        assert first_cells(part) == list(section.model_fields)


def test_reference_has_every_option() -> None:
    """Each option of each verb has a row, below its verb, and no path of this machine is in it."""
    for verb, command in commands():
        part = REFERENCE["command-line"].split(f"\n## slurmhooks {verb}\n")[1].split("\n## ")[0]
        assert first_cells(part) == [option.opts[0] for option in command.params if isinstance(option, click.Option)]
    assert str(PROJECT) not in "".join(REFERENCE.values())
    assert sys.prefix not in "".join(REFERENCE.values())


# The examples.


def test_examples_are_short_and_shown() -> None:
    """Each example fits a page, loads, and is in the documentation."""
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 40, path
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
    path.write_text('[[policies]]\nrule = "time_ceiling"\nlimit = "30:00"\n')
    registry = loader.load(policies_source.sources(config.read(path), path))
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
    """A partition for batch jobs accepts no job without a script."""
    refused = run(example("no_interactive"), "job_submit", job=FakeJob(partition="debug,night"))
    assert refused.text == "partition night takes batch jobs only: use sbatch"
    assert run(example("no_interactive"), "job_submit", job=FakeJob(partition="night", script="#!/bin/sh\n")).accepted
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
    """The prolog creates the job's folder for its owner, the epilog removes it; a second removal does no harm."""
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
    assert "FileNotFoundError" in "\n".join(again.log)


def test_early_limits() -> None:
    """One rule refuses, and fills in, in both places; post_submit sees the value that pre_submit has kept."""
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
    assert run(registry, "cli_filter.pre_submit", options=FakeOptions(partition="night"), offset=1).accepted
    told = run(registry, "cli_filter.post_submit", job_id=7, offset=1)
    assert told.log == ["info: job may run 720 minutes job=7"]


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


@pytest.mark.parametrize("page", ["security.md", "reliability.md"])
def test_named_tests_exist(page: str) -> None:
    """Every test that the page names for a rule or a fault exists."""
    named = set(re.findall(r"\b(test_\w+)`", (DOCS / page).read_text()))
    files = list((PROJECT / "tests").glob("**/test_*.py"))
    sources = "".join(path.read_text() for path in files)
    assert sorted(name for name in named - {path.stem for path in files} if f"def {name}(" not in sources) == []


def test_each_rule_of_security_names_a_test() -> None:
    """Each rule names the tests that show it; the parts on protected assets and on duties of sites are exempt."""
    text = (DOCS / "security.md").read_text().split("## Files that Slurm runs or obeys\n")[1]
    rules = re.findall(r"^- .*(?:\n  .*)*", text, flags=re.MULTILINE)
    assert len(rules) > 60
    assert [rule for rule in rules if not re.search(r"`test_\w+`", rule)] == []


def test_each_fault_of_reliability_names_a_test() -> None:
    """Each row of a table of faults ends with a test, or says that there is none."""
    tables = re.findall(
        r"^\| fault \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", (DOCS / "reliability.md").read_text(), re.MULTILINE
    )
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 80
    assert [row for row in rows if not re.search(r"test_\w+|^none$", row.rstrip(" |").rpartition(" | ")[2])] == []
