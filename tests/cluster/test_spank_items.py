# SPDX-License-Identifier: GPL-2.0-or-later
"""One hook file records every callback in every context, and every item there."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from docs.spank_callbacks import DROPPED, PLACES, ROOT, USER, Place
from slurmhooks.hooks.points import HOOKS
from slurmhooks.spank.calls import TASK
from slurmhooks.spank.fields import ITEMS, Item
from tests.cluster.spank.runs import ALICE, RUNS, Run, Truth, job_of, step_of
from tests.cluster.spank.site import HERE, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.each_release, pytest.mark.stopped]

Record = dict[str, Any]
IN_STEPS = {"init", "init_post_opt", "task_post_fork", "exit"}
"""The callbacks of an extern step."""


@dataclass
class Recorded:
    """The probe's records on one release: by run, with the id of the job, and those of slurmd's own start and end."""

    version: str
    runs: dict[str, tuple[Run, int, list[Record]]] = field(default_factory=dict)
    slurmd: list[Record] = field(default_factory=list)

    def all(self) -> Iterator[tuple[Truth, Record]]:
        """Return every record of a job, with the expected values."""
        for run, job_id, records in self.runs.values():
            for record in records:
                yield Truth(run, record, job_id, self.version), record


def watch(lent: Site, run: Run) -> tuple[Run, int, list[Record]]:
    """Run a command, and return the records until its job has ended completely."""
    lent.forget_records()
    done = lent.shell(f"cd; {run.command}", MARK=run.name)
    assert "error" not in done.stdout.replace("error: n", ""), done.stdout
    lent.wait_until_idle()
    nodes = max(len(step.layout) for step in run.steps.values())

    def over() -> bool:
        seen = Counter((record["callback"], record["context"]) for record in lent.records())
        return (
            seen["exit", "remote"] == sum(len(step.layout) for step in run.steps.values())
            and seen["job_epilog", "job_script"] == nodes
        )

    lent.cluster.wait(over, what=f"end of {run.name}: {done.stdout}")
    records = lent.records()
    return run, job_of(records), records


RARELY = [pytest.mark.one_release, pytest.mark.moved]


@pytest.fixture(scope="module", params=[pytest.param("python", marks=RARELY), "manifest"])
def recorded(cluster: "Cluster", request: pytest.FixtureRequest) -> Recorded:
    """The records of all runs, once with Python in every process, once with a hook manifest."""
    conf = {
        "PrologFlags": "contain",
        "LaunchParameters": "enable_nss_slurm,use_interactive_step",
        "InteractiveStepOptions": '"--interactive --preserve-env sh"',
        "SelectTypeParameters": "CR_CPU_Memory",
    }
    lent = site(cluster, **conf)
    lent.hooks(probe=(HERE / "probe.py").read_text())
    lent.plugstack("required spank_python.so")
    if request.param == "python":
        lent.without_manifest()
    cluster.deploy_changes()
    found = Recorded(lent.root("scontrol --version").split()[1])
    lent.forget_records()
    for _ in range(2):
        cluster.restart("n1", "n2")
    found.slurmd = lent.records()
    for run in RUNS:
        found.runs[run.name] = watch(lent, run)
    return found


def where(record: Record) -> str:
    """Return the place of a record, for messages."""
    return f"{record['callback']} in {record['context']}, step {step_of(record)}, node {record['node']}"


def judged(item: Item, truth: Truth, record: Record) -> bool | None:
    """Whether the answer about an item is right where it works; None: it was rightly refused."""
    answer = record["items"][item.name]
    works = item.where.includes(record["context"], record["callback"])
    extern = record["context"] == "remote" and truth.step_name == "extern"
    if not works or (extern and item.where is TASK):
        refused = "value" not in answer and answer["item"] == item.item and item.where.text in answer["text"]
        return None if refused else False
    if "_PID_TO_" in item.item and (extern or record["callback"] == "exit"):
        # The item works, but the probe has no task for it.
        return None if answer["error"] == "ESPANK_NOEXIST" else False
    return bool(answer.get("error", answer.get("value")) == truth.of(item.name))


def test_items(recorded: Recorded) -> None:
    """Each item has the right value wherever the table says that it works, and is refused everywhere else."""
    wrong = []
    for item in ITEMS:
        found = [(judged(item, truth, record), record) for truth, record in recorded.all()]
        wrong += [f"{item.item}: {where(record)}: {record['items'][item.name]}" for is_right, record in found
                  if is_right is False]  # fmt: skip
        if not any(is_right for is_right, _ in found):
            wrong.append(f"{item.item} works nowhere")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["job_local_to_global_id", "job_global_to_local_id"])
def test_ids_past_the_end(recorded: Recorded, name: str) -> None:
    """A task id without a task is refused, and Slurm's memory behind the last task is not read."""
    asked = 0
    for _, record in recorded.all():
        for key, answer in record["items"].items():
            if key.startswith(f"{name}(") and record["context"] == "remote":
                assert answer["error"] in ("ESPANK_NOEXIST", "ESPANK_BAD_ARG"), where(record)
                asked += 1
    assert asked


def test_step_names(recorded: Recorded) -> None:
    """The name of a step is the same as in the output of Slurm's tools, also for special steps."""
    names = set()
    for truth, record in recorded.all():
        if record["context"] == "remote":
            assert record["items"]["step_name"]["value"] == truth.step_name, where(record)
            names.add(truth.step_name)
    assert names == {"0", "batch", "extern", "interactive"}


def expected_calls(run: Run, place: Place) -> int:
    """Return how often Slurm makes each call in one run."""
    if place.context == "slurmd":
        return 0
    if place.context == "job_script":
        return max(len(step.layout) for step in run.steps.values())
    if place.context != "remote":
        return sum(context == place.context for _, context in run.commands)
    count = 0
    for name, step in run.steps.items():
        once = len(step.layout)
        each = once if name == "extern" else step.tasks
        if name != "extern" or place.callback in IN_STEPS:
            count += each if place.callback.startswith("task_") else once
    return count


def test_callbacks(recorded: Recorded) -> None:
    """Slurm makes each call once for each process, node or task, in the program and as the user of the table."""
    for place in PLACES:
        are_called(recorded, place)


def are_called(recorded: Recorded, place: Place) -> None:
    """Check one callback in one context."""
    for run, job_id, records in recorded.runs.values():
        found = [
            record for record in records if (record["callback"], record["context"]) == (place.callback, place.context)
        ]
        assert len(found) == expected_calls(run, place), (run.name, place)
        for record in found:
            process = record["process"]
            if place.callback == "exit" and step_of(record) == "extern":
                continue
            who = {ROOT: (0, 0), USER: (ALICE, ALICE), DROPPED: (0, ALICE)}[place.user]
            assert (process["uid"], process["euid"]) == who, where(record)
            assert (process["gid"], process["egid"]) == who, where(record)
            if place.context == "remote":
                assert process["command"].startswith(f"slurmstepd: [{job_id}."), where(record)
            elif place.context == "job_script":
                assert process["command"].endswith(f"slurmstepd spank {place.callback.removeprefix('job_')}")
            else:
                assert process["command"].split()[0] in dict(run.commands), where(record)
            if place.callback.startswith("task_init"):
                assert process["pid"] in {
                    other["items"]["task_pid"].get("value") for other in records if other["callback"] == "task_exit"
                } | {process["pid"] if step_of(record) == "extern" else None}, where(record)
    if place.context == "slurmd":
        assert {record["process"]["name"] for record in recorded.slurmd} == {"slurmd"}
        assert place.callback in {record["callback"] for record in recorded.slurmd}


def test_every_place_is_in_the_table(recorded: Recorded) -> None:
    """The table of places and the contexts of the hooks agree, and Slurm makes a call in each place."""
    stated = {(place.callback, place.context) for place in PLACES}
    assert stated == {
        (name.removeprefix("spank."), context)
        for name, spec in HOOKS.items()
        if name.startswith("spank.")
        for context in spec.contexts
    }
    seen = {(record["callback"], record["context"]) for _, record in recorded.all()}
    assert stated == seen | {(record["callback"], record["context"]) for record in recorded.slurmd}


@pytest.mark.parametrize("name", [run.name for run in RUNS])
def test_options(recorded: Recorded, name: str) -> None:
    """An option has the same value everywhere after options are read: all programs, all steps, prolog and epilog."""
    run, _, records = recorded.runs[name]
    places = {(place.callback, place.context) for place in PLACES if place.options}
    for record in records:
        values = tuple(value for _, value in record["options"].values())
        given = tuple(given for given, _ in record["options"].values())
        if (record["callback"], record["context"]) not in places:
            assert not any(given), where(record)
        elif step_of(record) != "extern":
            assert values == run.options, where(record)
            assert given == tuple(value is not None for value in run.options), where(record)


def test_environment(recorded: Recorded) -> None:
    """spank.env is the user's environment in commands and steps, and a bare one in prolog and epilog."""
    for truth, record in recorded.all():
        assert record["env"]["NO_SUCH_VARIABLE"] is None
        if record["context"] in ("local", "allocator", "remote") and truth.step_name != "extern":
            assert record["env"]["MARK"] == truth.run.name, where(record)
        if record["context"] == "job_script":
            assert record["env"]["HOME"] is None, where(record)


def test_job_control_environment(recorded: Recorded) -> None:
    """Prolog and epilog have the commands' writes to the job control environment; elsewhere access is refused."""
    for run, _, records in recorded.runs.values():
        for record in records:
            control = record["control"]
            if record["context"] == "job_script":
                assert control == {"value": run.control}, where(record)
            elif record["context"] == "remote":
                assert control["error"] == "ESPANK_NOT_LOCAL", where(record)
            else:
                assert control["value"] in (None, "from allocator", "from local"), where(record)
    assert {record["control"]["error"] for record in recorded.slurmd} == {"ESPANK_NOT_AVAIL"}


def test_symbols(recorded: Recorded) -> None:
    """symbol_supported() knows Slurm's callbacks, everywhere."""
    for record in [*recorded.slurmd, *(record for _, record in recorded.all())]:
        assert record["symbols"]["slurm_spank_task_init"] is True
        assert record["symbols"]["slurm_spank_no_such"] is False


def test_slurmd_has_nothing_but_the_version(recorded: Recorded) -> None:
    """In slurmd every item except the version is refused."""
    assert {record["callback"] for record in recorded.slurmd} == {"init", "slurmd_exit"}
    for record in recorded.slurmd:
        for item in ITEMS:
            answer = record["items"][item.name]
            if item.name.startswith("slurm_version"):
                version = recorded.version
                assert version.startswith(answer["value"]) or answer["value"] in re.split("[.-]", version)
            else:
                assert answer.get("error"), f"{item.item}: {answer}"
