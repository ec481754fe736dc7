# SPDX-License-Identifier: GPL-2.0-or-later
"""SPANK handlers read items, environments and options, and write to them, in each callback."""

import re

import pytest

from tests.native.hosting import Host

CALLBACKS = {
    "local": ("init", "init_post_opt", "local_user_init", "exit"),
    "allocator": ("init", "init_post_opt", "exit"),
    "remote": (
        *("init", "init_post_opt", "user_init", "task_init_privileged", "task_init"),
        *("task_post_fork", "task_exit", "exit"),
    ),
    "slurmd": ("init", "slurmd_exit"),
    "job_script": ("job_prolog", "job_epilog"),
}
"""The callbacks in each context, in the order in which Slurm calls them."""

ITEMS = {
    "job_uid": 2001,
    "job_gid": 2002,
    "job_id": 4711,
    "job_stepid": 3,
    "job_nnodes": 2,
    "job_nodeid": 1,
    "job_local_task_count": 2,
    "job_total_task_count": 4,
    "job_ncpus": 8,
    "job_argv": ["prog", "a b"],
    "job_env": {"A": "1"},
    "job_supplementary_gids": [2001, 3001, 3002],
    "step_cpus_per_task": 4,
    "job_alloc_cores": "0-3,8",
    "job_alloc_mem": 2**33,
    "step_alloc_cores": None,
    "step_alloc_mem": 512,
    "slurm_restart_count": 1,
    "job_array_id": 4000,
    "job_array_task_id": 7,
    "task_id": 1,
    "task_global_id": 3,
    "task_pid": 1001,
}
"""The items of the host's job in a callback of task 1 in slurmstepd."""

READ_ALL = f"""
from slurmhooks import SpankError

def read(spank):
    for name in {list(ITEMS)!r}:
        try:
            log.info("item", callback=spank.callback, name=name, value=getattr(spank, name))
        except SpankError as error:
            log.info("item", callback=spank.callback, name=name, code=error.code)
"""

JOB = 'job argv=prog argv="a b" env=A=1'


def test_every_item_in_a_task(each_host: Host) -> None:
    """Each item is read with its C type."""
    each_host.site(READ_ALL + "\nhook.spank.task_post_fork(read)")
    run = each_host.run(
        f"""
        {JOB}
        open sp $spank hooks.py
        context remote
        call sp init
        call sp task_post_fork task=1
        """
    )
    expected = [f"callback='task_post_fork' name={name!r} value={value!r}" for name, value in ITEMS.items()]
    assert run.said("item") == expected


def test_the_release(host: Host) -> None:
    """The version of Slurm can be read in each context, as a whole and in parts."""
    host.site(
        """
        @hook.spank.init
        def init(spank):
            parts = (spank.slurm_version_major, spank.slurm_version_minor, spank.slurm_version_micro)
            log.info("version", whole=spank.slurm_version, same=spank.slurm_version == ".".join(parts))
        """
    )
    run = host.run("open sp $spank hooks.py\ncontext slurmd\ncall sp init")
    assert re.fullmatch(r"whole='\d\d\.\d\d\.\d+' same=True", run.said("version")[0])


@pytest.mark.parametrize(
    ("context", "callback", "codes"),
    [
        ("local", "init", {"job_id": "NOT_AVAIL", "job_nodeid": "NOT_REMOTE", "task_id": "NOT_REMOTE"}),
        ("local", "local_user_init", {"job_id": 4711, "job_nnodes": 2, "job_ncpus": "NOT_REMOTE"}),
        ("allocator", "init", {"job_uid": "NOT_AVAIL", "job_id": "NOT_AVAIL", "job_ncpus": "NOT_AVAIL"}),
        ("slurmd", "init", {"job_uid": "NOT_AVAIL", "job_ncpus": "NOT_AVAIL"}),
        ("job_script", "job_prolog", {"job_uid": 2001, "job_id": 4711, "job_stepid": "NOT_AVAIL"}),
        ("remote", "user_init", {"job_id": 4711, "task_id": "NOT_TASK", "task_pid": "NOT_TASK"}),
        ("remote", "task_init", {"task_id": 0, "task_exit_status": "NOT_TASK"}),
    ],
)
def test_an_item_out_of_place(host: Host, context: str, callback: str, codes: dict[str, str | int]) -> None:
    """An item that Slurm does not have in a context raises SpankError with Slurm's code."""
    host.site(READ_ALL.replace(repr(list(ITEMS)), repr(list(codes))) + f"\nhook.spank.{callback}(read)")
    first = "" if callback in ("init", "job_prolog") else "call sp init"
    run = host.run(f"{JOB}\nopen sp $spank hooks.py\ncontext {context}\n{first}\ncall sp {callback}")
    expected = [
        f"callback={callback!r} name={name!r} "
        + (f"code='ESPANK_{code}'" if isinstance(code, str) else f"value={code}")
        for name, code in codes.items()
    ]
    assert run.said("item") == expected


def test_ids_of_tasks(host: Host) -> None:
    """The four conversions of ids return an id, or raise SpankError with Slurm's code."""
    host.site(
        """
        from slurmhooks import SpankError

        def ask(function, value):
            try:
                return function(value)
            except SpankError as error:
                return error.code

        @hook.spank.task_exit
        def exit(spank):
            log.info("ids", pids=[ask(spank.job_pid_to_global_id, 1001), ask(spank.job_pid_to_local_id, 99)])
            log.info("ids", ids=[ask(spank.job_local_to_global_id, 0), ask(spank.job_global_to_local_id, 3)])
            log.info("ids", wrong=[ask(spank.job_local_to_global_id, 9), ask(spank.job_global_to_local_id, 9)])
            status = spank.task_exit_status
            log.info("ids", status=[status.raw, status.exit_code, status.signal])

        @hook.spank.user_init
        def user_init(spank):
            log.info("ids", early=ask(spank.job_pid_to_local_id, 1001))
        """
    )
    run = host.run(
        """
        open sp $spank hooks.py
        context remote
        call sp init
        call sp user_init
        call sp task_exit task=1 exit_status=0x300
        """
    )
    assert run.said("ids") == [
        "early='ESPANK_NOT_EXECD'",
        "pids=[3, 'ESPANK_NOEXIST']",
        "ids=[2, 1]",
        "wrong=['ESPANK_NOEXIST', 'ESPANK_BAD_ARG']",
        "status=[768, 3, None]",
    ]


@pytest.mark.parametrize("context", CALLBACKS)
def test_every_callback_reaches_its_handler(host: Host, context: str) -> None:
    """Each callback runs its handler, in each context in which Slurm calls it."""
    names = CALLBACKS[context]
    host.site(
        "def say(spank):\n    log.info('call', name=spank.callback, context=spank.context)\n"
        + "".join(f"hook.spank.{name}(say)\n" for name in names)
    )
    calls = "\n".join(f"call sp {name}" for name in names)
    run = host.run(f"open sp $spank hooks.py\ncontext {context}\n{calls}")
    assert run.said("call") == [f"name={name!r} context={context!r}" for name in names]
    assert {result.rc for result in run.of("call")} == {0}


def test_environments(each_host: Host) -> None:
    """spank.env is the job's environment in slurmstepd and the process's elsewhere; variables are set and deleted."""
    each_host.site(
        """
        @hook.spank.init(contexts="remote")
        def init(spank):
            spank.env["NEW"] = "x" * 10000
            spank.env["A"] = "2"
            del spank.env["GONE"]
            log.info("remote", env=sorted(spank.env)[:2])

        @hook.spank.init_post_opt(contexts="local")
        def local(spank):
            spank.env["FAKEHOST_TEST"] = "local"
            spank.job_control_env["CONTROL"] = "1"
        """
    )
    run = each_host.run(
        """
        job env=A=1 env=GONE=1
        open sp $spank hooks.py
        context remote
        call sp init
        context local
        call sp init_post_opt
        show
        getenv FAKEHOST_TEST
        """
    )
    assert {result.rc for result in run.of("call")} == {0}
    show = run.one("show")
    assert sorted(map(str, show.lists["env"])) == ["A=2", "NEW=" + "x" * 10000]
    assert show.lists["control_env"] == ["CONTROL=1"]
    assert run.one("getenv")["value"] == "local"
    assert run.said("remote") == ["env=['A', 'NEW']"]


def test_a_long_value_is_read_whole(host: Host) -> None:
    """A value that is longer than the buffer of spank_getenv() is read completely."""
    host.site("hook.spank.init(lambda spank: log.info('length', n=len(spank.env['LONG'])))")
    run = host.run(f"job env=LONG={'y' * 100000}\nopen sp $spank hooks.py\ncontext remote\ncall sp init")
    assert run.said("length") == ["n=100000"]


def test_nothing_is_applied_when_a_later_handler_refuses(each_host: Host) -> None:
    """Environment and command change only if all handlers of the callback pass."""
    each_host.site(
        """
        @hook.spank.task_init
        def first(spank):
            spank.env["NEW"] = "1"

        @hook.spank.task_init
        def second(spank):
            assert spank.env["NEW"] == "1"
            raise Reject("no", code="ESPANK_NOT_AVAIL")
        """
    )
    run = each_host.run(
        """
        job env=A=1
        open sp $spank hooks.py
        context remote
        call sp init
        call sp task_init
        show
        """
    )
    assert run.of("call")[1].rc == each_host.sign * 3009
    assert run.one("show").lists["env"] == ["A=1"]
    assert "no" in run.lines("SPANK")


def test_options(each_host: Host) -> None:
    """Options are registered as declared, and values are converted and checked."""
    each_host.site(
        """
        flag = hook.spank.option("flag", usage="a flag")
        number = hook.spank.option("number", "N", usage="a number", type=int)
        maybe = hook.spank.option("maybe", "X", usage="with or without", optional=True)

        @number.check
        def positive(value):
            if value <= 0:
                raise Reject("must be positive")
            return value

        @hook.spank.init_post_opt
        def show(spank):
            log.info("values", flag=flag.value, number=number.value, maybe=maybe.value)
        """
    )
    run = each_host.run(
        """
        open sp $spank hooks.py
        context local
        call sp init
        show
        option sp flag
        option sp number 12
        option sp maybe
        call sp init_post_opt
        option sp maybe given
        call sp init_post_opt
        option sp number -1
        option sp number many
        """
    )
    show = run.one("show")
    assert show.lists["option"] == ["flag", "number", "maybe"]
    assert show.lists["has_arg"] == [0, 1, 2]
    assert show.lists["arginfo"] == [None, "N", "X"]
    assert [result.rc for result in run.of("option")[:4]] == [0] * 4
    assert all(result.failed for result in run.of("option")[4:])
    assert run.said("values") == ["flag=True number=12 maybe=True", "flag=True number=12 maybe='given'"]
    assert "--number: must be positive" in run
    assert "--number takes a whole number" in run


def test_a_remote_option_that_fails(each_host: Host) -> None:
    """In slurmstepd, which only logs failures of option callbacks, a wrong value fails the tasks with its reason."""
    each_host.site(
        """
        number = hook.spank.option("number", "N", usage="a number", type=int)
        hook.spank.task_init_privileged(lambda spank: log.info("ran"))
        """
    )
    run = each_host.run(
        """
        open sp $spank hooks.py
        context remote
        call sp init
        option sp number many
        call sp init_post_opt
        call sp task_init_privileged
        """
    )
    *passed, failed = run.of("call")
    assert {result.rc for result in passed} == {0}
    assert failed.failed
    assert any("--number" in line for line in run.lines("SPANK"))
    assert not run.said("ran")


@pytest.mark.parametrize("prefix", ["", "SPANK_"])
def test_an_option_in_prolog(host: Host, prefix: str) -> None:
    """In prolog and epilog, where Slurm calls no option callbacks, values are read from the environment."""
    host.site(
        """
        number = hook.spank.option("my-number", "N", usage="a number", type=int)
        hook.spank.job_prolog(lambda spank: log.info("number", n=number.value))
        """
    )
    run = host.run(
        "open sp $spank hooks.py\ncontext job_script\ncall sp job_prolog",
        env={f"{prefix}_SLURM_SPANK_OPTION_python_my_number": "5"},
    )
    assert run.said("number") == ["n=5"]


def test_the_last_call_comes_from_atexit(each_host: Host) -> None:
    """A handler of exit runs in atexit(), from which srun, sbatch and salloc call it."""
    each_host.site(
        """
        @hook.spank.exit
        def exit(spank):
            import textwrap  # imports still work
            log.info("exit", context=spank.context)
        """
    )
    run = each_host.run(
        """
        open sp $spank hooks.py
        context allocator
        call sp init
        atexit
        call sp exit
        end
        """
    )
    assert run.said("exit") == ["context='allocator'"]


def test_views_end_with_the_call(host: Host) -> None:
    """A view that a handler keeps raises StaleHandleError after the call."""
    host.site(
        """
        from slurmhooks import StaleHandleError
        kept = []

        @hook.spank.init
        def init(spank):
            kept.append(spank)

        @hook.spank.exit
        def exit(spank):
            for function in (lambda: kept[0].job_id, lambda: kept[0].env["A"], lambda: kept[0].env.update(A="1")):
                try:
                    log.info("stale", value=function())
                except StaleHandleError:
                    log.info("stale")
        """
    )
    run = host.run(
        """
        open sp $spank hooks.py
        context remote
        call sp init
        call sp exit
        """
    )
    assert run.said("stale") == ["", "", ""]
