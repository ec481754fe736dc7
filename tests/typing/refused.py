# SPDX-License-Identifier: GPL-2.0-or-later
"""Mistakes in hook files that mypy finds before Slurm does.

Each line that ends in ``type: ignore[CODE]`` is a mistake, which mypy must find under that code; otherwise mypy reports
the comment as unused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import slurmhooks
from slurmhooks import Reject, hook, log
from slurmhooks.testing import FakeContainer, FakeJob, FakeSpank, run

if TYPE_CHECKING:
    from slurmhooks.cli_filter.model import Options
    from slurmhooks.job_submit.model import Association, Job, Node, Partition, Record, Table
    from slurmhooks.jobcomp.event import Event
    from slurmhooks.scrun import Container
    from slurmhooks.spank.model import Spank

# Handlers return nothing, except those of priority, and run when they are called.


@hook.priority  # type: ignore[type-var]
def rates(record: Record) -> str:
    """Return something that is not a number."""
    return "7"


@hook.controller_prolog  # type: ignore[type-var]
def refuses(record: Record) -> int:
    """Return an exit code to refuse, as a script does."""
    return 1


@hook.job_submit  # type: ignore[type-var]
def returns(job: Job) -> int:
    """Return 0, which means a refusal in another system."""
    return 0


@hook.job_submit  # type: ignore[type-var]
async def waits(job: Job) -> None:
    """Never run."""


@hook.job_submit(order=1)  # type: ignore[type-var]
def yields(job: Job) -> Iterator[None]:
    """Never run."""
    yield


@hook.job_submit(timeout=1)  # type: ignore[type-var]
def returns_of_many(job: Job, submit_uid: int, nodes: Table[str, Node], jobs: Mapping[int, Record]) -> bool:
    """Return False to refuse."""
    return False


# Handlers take the arguments of their hook, by name, each of its type.


@hook.job_submit  # type: ignore[type-var]
def asks_for_the_user(job: Job, user: str) -> None:
    """Take what the hook does not have."""


@hook.job_submit  # type: ignore[type-var]
def asks_for_the_record(job: Job, record: Record) -> None:
    """Take what only job_modify has."""


@hook.job_modify(order=1)  # type: ignore[type-var]
def misspells(job: Job, recrod: Record) -> None:
    """Misspell an argument."""


@hook.job_modify  # type: ignore[type-var]
def confuses(job: Record, record: Job) -> None:
    """Take one view for another."""


@hook.job_submit  # type: ignore[type-var]
def confuses_types(job: Job, submit_uid: str) -> None:
    """Annotate a name as a number."""


@hook.job_submit  # type: ignore[type-var]
def confuses_keys(partitions: Mapping[int, Partition]) -> None:
    """Annotate numbers as names."""


@hook.spank.task_init  # type: ignore[call-overload]
def wants_a_job(spank: Spank, job: Job) -> None:
    """Take what SPANK does not have."""


@hook.spank.init(contexts="remote")  # type: ignore[type-var]
def wants_a_container(spank: Container) -> None:
    """Take one view for another."""


@hook.scrun.stage_in  # type: ignore[call-overload]
def names_it_otherwise(bundle: Container) -> None:
    """Give an argument another name."""


@hook.job_end  # type: ignore[call-overload]
def wants_a_request(job: Job, event: Event) -> None:
    """Take a request after the job."""


@hook.job_submit.init  # type: ignore[call-overload]
def wants_anything(job: Job) -> None:
    """Take an argument where there is none."""


@hook.cli_filter.pre_submit  # type: ignore[call-overload]
def wants_an_early_one(options: Options, early: bool) -> None:
    """Take what only setup_defaults has."""


# Options of commands.


@hook.cli_filter.pre_submit
def wrong_values(options: Options) -> None:
    """Set what options do not take."""
    options["time"] = 60  # type: ignore[assignment]
    options.time_limit = "1:00"  # type: ignore[assignment]
    options.accnt = "x"  # type: ignore[attr-defined]
    options.command = 5  # type: ignore[assignment]


@hook.cli_filter.pre_submit(contexts="sstat")  # type: ignore[arg-type]
def elsewhere(options: Options) -> None:
    """Run in a command that has no filters."""


# Decorators.


@hook.job_submit(ordr=1)  # type: ignore[call-overload, untyped-decorator]
def misspelt(job: Job) -> None:
    """Misspell a keyword."""


@hook.job_submit(order="first")  # type: ignore[call-overload, untyped-decorator]
def first(job: Job) -> None:
    """Order by word."""


@hook.job_submit(on_error="accepd")  # type: ignore[call-overload, untyped-decorator]
def lenient(job: Job) -> None:
    """Misspell a word."""


@hook.job_submit(contexts="local")  # type: ignore[call-overload, untyped-decorator]
def has_no_contexts(job: Job) -> None:
    """Choose a context for a hook that has only one."""


@hook.spank.task_init(contexts="local")  # type: ignore[arg-type]
def in_no_task(spank: Spank) -> None:
    """Run where Slurm does not call it."""


@hook.spank.init(on_error="accept")  # type: ignore[call-overload, untyped-decorator]
def accepts(spank: Spank) -> None:
    """Use a word of other hooks."""


@hook.scrun.stage_in(mode="warn")  # type: ignore[call-overload, untyped-decorator]
def warns(container: Container) -> None:
    """Warn in a hook that decides nothing."""


@hook.job_submit.init(timeout=5)  # type: ignore[call-overload, untyped-decorator]
def limited() -> None:
    """Set a limit for a handler that has no limit of its own."""


@hook.spank.init(contexts=["mars"])  # type: ignore[list-item]
def on_mars(spank: Spank) -> None:
    """Run nowhere."""


@hook.spank.task_inti  # type: ignore[attr-defined, untyped-decorator]
def no_such_hook(spank: Spank) -> None:
    """Never run."""


@hook.job_submit(5)  # type: ignore[call-overload, untyped-decorator]
def positional(job: Job) -> None:
    """Forget the name of a keyword."""


# Refusals and the log.

slurmhooks.Rejct("no")  # type: ignore[attr-defined]
Reject("no", "ESLURM_INVALID_ACCOUNT")  # type: ignore[call-arg]
Reject("no", code=1.5)  # type: ignore[arg-type]
log.info(5)  # type: ignore[arg-type]
log.warning("slow")  # type: ignore[attr-defined]

# Options.

hook.spank.option("greet")  # type: ignore[call-overload]
hook.spank.option("greet", "NAME", 5)  # type: ignore[call-overload]
hook.spank.option("greet", usage="who", type=int)  # type: ignore[call-overload]
number = hook.spank.option("number", "N", usage="how many", type=int)
number.value + 1  # type: ignore[operator]
number.value = 5  # type: ignore[misc]
maybe = hook.spank.option("maybe", "NAME", usage="who", optional=True)


@number.check  # type: ignore[arg-type]
def returns_text(value: int) -> str:
    """Return another type."""
    return str(value)


@maybe.check  # type: ignore[arg-type]
def forgets_the_flag(value: str) -> str:
    """Forget that the argument may be left out."""
    return value


# Views.


def options_of_requests(job: Job, record: Record) -> None:
    """Set an option to a value of another type, or in a record."""
    number.set(job, "3")  # type: ignore[arg-type]
    number.set(record, 3)  # type: ignore[arg-type]
    number.values = (1,)  # type: ignore[misc]


def jobs(job: Job, record: Record) -> None:
    """Write and compare values of a wrong type, and write read-only fields."""
    job.account = 5  # type: ignore[assignment]
    job.time_limit = "60"  # type: ignore[assignment]
    job.time_limit += 1  # type: ignore[operator]
    job.environment["A"] = 1  # type: ignore[assignment]
    job.environment = ["A=1"]  # type: ignore[assignment]
    job.argv.append(5)  # type: ignore[arg-type]
    record.time_limit > 60  # type: ignore[operator]  # noqa: B015
    record.time_limit = 60  # type: ignore[misc]
    job.user_id = 0  # type: ignore[misc]
    job.acount = "x"  # type: ignore[attr-defined]
    job.acount.upper()  # type: ignore[attr-defined]
    record.tiem_limit  # type: ignore[attr-defined]  # noqa: B018


def tables(nodes: Table[str, Node], associations: Mapping[int, Association]) -> None:
    """Write to a record, compare what may be unset, and take a list for something else."""
    nodes["n1"].name = "n2"  # type: ignore[misc]
    nodes.where(state=1).cpus  # type: ignore[attr-defined]  # noqa: B018
    associations[1].max_jobs > 5  # type: ignore[operator]  # noqa: B015
    nodes["n1"].partitions.split(",")  # type: ignore[attr-defined]


def spanks(spank: Spank) -> None:
    """Mistake an item for another, or write a read-only one."""
    spank.job_id.upper()  # type: ignore[attr-defined]
    spank.env["A"] = 1  # type: ignore[assignment]
    spank.job_pid_to_global_id("1")  # type: ignore[arg-type]
    spank.task_exit_status.exitcode  # type: ignore[attr-defined]  # noqa: B018
    spank.nonsense = 1  # type: ignore[attr-defined]
    spank.nonsense()  # type: ignore[attr-defined]
    spank.job_id = 7  # type: ignore[misc]
    spank.env = spank.env  # type: ignore[misc]
    if spank.context == "mars":  # type: ignore[comparison-overlap]
        spank.env["A"] = "1"


def containers(container: Container) -> None:
    """Assign something that is not a path."""
    container.bundle = 5  # type: ignore[assignment]
    container.remote_command(5)  # type: ignore[arg-type]
    container.root_path.upper()  # type: ignore[union-attr]
    container.job_idd  # type: ignore[attr-defined]  # noqa: B018
    container.job_id = 7  # type: ignore[misc]
    container.nonsense = 1  # type: ignore[attr-defined]


# Tests of a site.

run("hooks.py", "job_submit", jbo=FakeJob())  # type: ignore[call-arg]
run("hooks.py", "spank.init", spank=FakeJob())  # type: ignore[arg-type]
FakeSpank(envs={})  # type: ignore[call-arg]
FakeSpank("mars")  # type: ignore[arg-type]
FakeContainer(job_id="7")  # type: ignore[arg-type]
