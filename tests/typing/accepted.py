# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files as a careful site writes them: mypy --strict accepts this file."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, assert_type

from slurmhooks import UNLIMITED, Reject, SpankError, StaleHandleError, hook, log
from slurmhooks.job_submit.constants import ESLURM, JobFlag, MailType, NodeState, Shared
from slurmhooks.testing import FakeContainer, FakeJob, FakeRecord, FakeSpank, Result, fake_partitions, run
from slurmhooks.values import Unlimited

if TYPE_CHECKING:
    from slurmhooks.cli_filter.model import Options
    from slurmhooks.hooks.option import Option
    from slurmhooks.job_submit.model import (
        Association,
        Environment,
        Job,
        License,
        Node,
        Partition,
        Qos,
        Record,
        Reservation,
        Table,
        Words,
    )
    from slurmhooks.jobcomp.event import Event
    from slurmhooks.power.model import PowerNodes, ResumeJob
    from slurmhooks.scrun import CommandResult, Config, Container
    from slurmhooks.spank.model import Spank
    from slurmhooks.values import ExitStatus

# Every decorator, bare and with keywords.


@hook.job_submit
def submit(
    job: Job,
    submit_uid: int,
    partitions: Mapping[str, Partition],
    reservations: Mapping[str, Reservation],
    jobs: Mapping[int, Record],
) -> None:
    """Take everything."""
    if job.account is None:
        raise Reject("please name a project", code="ESLURM_INVALID_ACCOUNT")
    if job.partition is not None and partitions[job.partition].max_time is UNLIMITED:
        raise Reject("no", code=ESLURM.ESLURM_INVALID_TIME_LIMIT)
    for number, record in jobs.items():
        log.debug("job %d of %s", number, record.user_name, of=submit_uid, reservations=len(reservations))


@hook.job_submit
def look(
    job: Job,
    nodes: Mapping[str, Node],
    licenses: Mapping[str, License],
    qos: Table[str, Qos],
    associations: Table[int, Association],
) -> None:
    """Take slurmctld's tables, as plain mappings or with the additional methods of their own types."""
    assert_type(nodes["n1"].partitions, list[str])
    assert_type(nodes["n1"].state, NodeState | None)
    assert_type(licenses["matlab"].used, int | None)
    assert_type(qos["high"].usage_factor, float | Unlimited | None)
    assert_type(qos.where(priority=5), Sequence[Qos])
    assert_type(qos.count(priority=5), int)
    assert_type(associations.counts("account"), dict[tuple[Any, ...], int])
    for association in associations.of_user(job.user_id or 0):
        log.debug("%s may use %s", association.user, ", ".join(association.qos))
    assert_type([association.max_jobs for association in associations.values()], list[int | Unlimited | None])


@hook.job_submit(timeout=5, effects=False)
def nothing() -> None:
    """Take no argument."""


@hook.job_submit
def in_any_order(partitions: Mapping[str, Partition], job: Job) -> None:
    """Take arguments by name, in any order, as mappings if that is enough."""


@hook.job_modify(order=10, on_error="accept")
def modify(job: Job, record: Record, modify_uid: int) -> None:
    """Compare what may be unset."""
    if job.time_limit is not None and record.time_limit is not None and job.time_limit > record.time_limit:
        raise Reject("only operators may extend a job")


@hook.job_submit(mode="warn", percent=10, users=["anna", 1000], otherwise="observe", note="soon")
@hook.job_modify(accounts="physics", partitions=("gpu",))
def shares(job: Job) -> None:
    """Decide about some requests."""


@hook.priority
def points(record: Record, jobs: Mapping[int, Record]) -> int | None:
    """Rate a job, or not."""
    return None if record.account is None else len(jobs)


@hook.priority(order=1, on_error="ignore", timeout=0.5)
def more_points(record: Record) -> int:
    """Rate each job."""
    return record.job_id or 0


@hook.controller_prolog(timeout=20)
@hook.controller_epilog(on_error="ignore")
def starts_and_ends(record: Record, environment: Mapping[str, str]) -> None:
    """Serve two hooks."""
    log.info("job", user=environment["SLURM_JOB_USER"], nodes=record.nodes)


@hook.job_submit.init
@hook.job_submit.fini(on_error="ignore")
def start_and_end() -> None:
    """Serve two hooks."""


@hook.job_start
@hook.job_end(timeout=30, on_error="ignore")
def ended(record: Record, event: Event) -> None:
    """Take the arguments of job start and end."""
    assert_type(event.id, str)
    log.info("%s of job %d", event.name, record.job_id, at=event.time, attempt=event.attempt)


@hook.spank.init(contexts="remote")
@hook.spank.job_prolog
@hook.spank.init_post_opt(contexts=["local", "allocator"], order=-1)
@hook.spank.local_user_init
@hook.spank.user_init
@hook.spank.task_init_privileged
@hook.spank.task_init
@hook.spank.task_post_fork
@hook.spank.task_exit
@hook.spank.exit(contexts=("local",))
@hook.spank.job_epilog(on_error="ignore")
@hook.spank.slurmd_exit
def power() -> None:
    """Start and stop nodes."""

    @hook.power.resume
    def resume(nodes: PowerNodes, jobs: tuple[ResumeJob, ...], features: str | None, event: Event) -> None:
        for node in nodes.values():
            if features or "big" in node.features or any(job.partition in node.partitions for job in jobs):
                node.down(f"no room: {event.id}")

    @hook.power.suspend(order=10)
    def suspend(nodes: PowerNodes) -> None:
        assert_type(nodes["c1"].features, tuple[str, ...])

    @hook.power.reboot
    def reboot(nodes: PowerNodes, features: str | None) -> None:
        assert_type(nodes.hostlist, str)


def everywhere(spank: Spank) -> None:
    """Serve all of SPANK."""


@hook.cli_filter.setup_defaults
@hook.cli_filter.pre_submit(contexts=["sbatch", "srun"], on_error="ignore")
def filters(options: Options) -> None:
    """Read and set options, as text and as values."""
    text: str | None = options["time"]
    minutes: int | Unlimited | None = options.time_limit
    account: str | None = options.account
    plugins: Mapping[str, Mapping[str, str | None]] = options.spank
    options.spank["python"]["greet"] = "you"
    options["comment"] = text or f"{minutes} {account} {plugins} {options.command} {options.argv} {options.script}"
    options.num_tasks = 3
    options.time_limit = UNLIMITED
    options.account = None
    options.environment["A"] = "1"
    del options["time"]


@hook.cli_filter.pre_submit(contexts="salloc")
@hook.job_submit
def at_both_places(job: Job | Options) -> None:
    """Serve both."""
    if job.account is None and job.time_limit is not None:
        job.time_limit = 60


@hook.cli_filter.post_submit
def after(offset: int, job_id: int, step_id: int | None) -> None:
    """Handle the time after a submission."""


@hook.scrun.stage_in
@hook.scrun.stage_out(on_error="fail")
def stage(container: Container) -> None:
    """Serve all of scrun."""


def decorated_functions_keep_their_type(job: Job) -> None:
    """A decorator returns the same function."""
    modify(job, FakeRecord(), modify_uid=0)
    stage(FakeContainer("c1"))


# Options.

flag = hook.spank.option("flag", usage="a flag")
by_position = hook.spank.option("text", "TEXT", "a text")
text = hook.spank.option("text", "TEXT", usage="a text", contexts=["local", "remote"])
number = hook.spank.option("number", "N", usage="a number", type=int)
path = hook.spank.option("path", "PATH", usage="a path", optional=True, type=Path)


@number.check
def small(value: int) -> int:
    """Refuse large ones."""
    if value > 9:
        raise Reject("at most 9")
    return value


@text.check
def stripped(value: str) -> str:
    """Change it."""
    return value.strip()


@text.check
def short(value: str) -> None:
    """Only refuse."""
    if len(value) > 9:
        raise Reject("at most 9 characters")


def options() -> None:
    """Values have the type that the option was given, and None."""
    assert_type(flag.value, Literal[True] | None)
    assert_type(text.value, str | None)
    assert_type(number.value, int | None)
    assert_type(path.value, Path | Literal[True] | None)
    assert_type(number.given, bool)
    assert_type(number.values, tuple[int, ...])
    several: list[Option[Any]] = [flag, text, number, path]
    del several


def options_of_requests(job: Job, record: Record, jobs: Mapping[int, Record]) -> None:
    """Requests and records have options of the same types, and requests take them."""
    assert_type(number.of(job), int | None)
    assert_type(text.of(record), str | None)
    assert_type(flag.of(jobs[7]), Literal[True] | None)
    number.set(job, 3)
    flag.set(job, True)
    path.set(job, Path("/opt"))
    path.set(job, None)
    text.unset(job)


# Views.


def job_fields(job: Job) -> None:
    """Fields of a request have their types, and None where they are unset."""
    assert_type(job.account, str | None)
    assert_type(job.time_limit, int | Unlimited | None)
    assert_type(job.nice, int | None)
    assert_type(job.min_mem_per_cpu, int | None)
    assert_type(job.mail_type, MailType | None)
    assert_type(job.shared, Shared | None)
    assert_type(job.bitflags, JobFlag | None)
    assert_type(job.environment, Environment)
    assert_type(job.environment["PATH"], str)
    assert_type(job.argv, Words)
    job.account = "physics"
    job.account = None
    job.time_limit = UNLIMITED
    job.time_limit = 60
    job.shared = Shared.JOB_SHARED_NONE
    job.mail_type = MailType.MAIL_JOB_END | MailType.MAIL_JOB_FAIL
    job.environment = {"A": "1"}
    job.environment["A"] = "2"
    del job.environment["A"]
    job.environment |= {"B": "3"}
    assert_type(job.environment | {"C": "4"}, dict[str, str])
    assert_type(job.environment.copy(), dict[str, str])
    assert_type(job.argv + job.argv.copy(), list[str])
    assert_type(dict(job), dict[str, Any])
    job.argv.sort()
    job.argv = ["a", "b"]
    job.argv.append("c")
    mapping: MutableMapping[str, str] = job.spank_job_env
    mapping.update(A="1")


def other_fields(record: Record, partition: Partition, reservation: Reservation) -> None:
    """Fields of records have their types, and None where they are unset."""
    assert_type(record.job_id, int | None)
    assert_type(record.argv, list[str] | None)
    assert_type(partition.max_time, int | Unlimited | None)
    assert_type(partition.flag_default, bool | None)
    assert_type(reservation.users, str | None)


def unlimited(limit: int | Unlimited) -> bool:
    """UNLIMITED compares with numbers, on both sides."""
    sixty = 60
    return limit > sixty and sixty < limit and limit <= UNLIMITED and sixty < UNLIMITED


def spank_items(spank: Spank) -> None:
    """Items have their types."""
    assert_type(spank.job_id, int)
    assert_type(spank.job_argv, list[str])
    assert_type(spank.job_array_task_id, int | None)
    assert_type(spank.task_exit_status, ExitStatus)
    assert_type(spank.task_exit_status.exit_code, int | None)
    assert_type(spank.job_pid_to_global_id(1), int)
    assert_type(spank.context, Literal["local", "remote", "allocator", "slurmd", "job_script"])
    assert_type(spank.args, tuple[str, ...])
    assert_type(spank.env.get("A"), str | None)
    spank.env["A"] = "1"
    spank.env.update({"B": "2"})
    spank.job_control_env["A"] = "1"
    spank.prepend_task_argv(["numactl"])
    try:
        spank.symbol_supported("slurm_spank_exit")
    except SpankError as error:
        assert_type(error.code, str)
    except StaleHandleError:
        pass


def containers(container: Container) -> None:
    """Paths, the configuration and commands have their types."""
    assert_type(container.bundle, str)
    assert_type(container.root_path, str | None)
    assert_type(container.user_id, int)
    assert_type(container.job_env["A"], str)
    assert_type(container.config, Config)
    assert_type(container.cancelled, bool)
    container.bundle = "/new"
    container.root_path = "/new/rootfs"
    result = container.remote_command(["id", "-u"])
    assert_type(result, CommandResult)
    assert_type(result.status, int)
    assert_type(container.allocator_command("id | wc").output, str)
    container.save_config()


# Tests of a site.


def tests() -> None:
    """Stand-ins are what handlers take."""
    modify(FakeJob(time_limit=5), FakeRecord(time_limit=4), 0)
    everywhere(FakeSpank("remote", items={"job_id": 7}, env={"A": "1"}))
    partitions: Mapping[str, Partition] = fake_partitions({"debug": {"max_time": 60}})
    del partitions
    run("power.py", "power.resume", nodes={"c1": {"features": ["big"]}}, jobs=[{"job_id": 7}], features="big")
    result = run("hooks.py", "job_submit", job=FakeJob(account="x"), partitions={"debug": {"max_time": 60}})
    assert_type(result, Result)
    assert_type(result.accepted, bool)
    assert_type(result.code, str | int | None)
    assert_type(result.changes, dict[str, Any])
