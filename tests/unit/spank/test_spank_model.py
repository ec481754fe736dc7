# SPDX-License-Identifier: GPL-2.0-or-later
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.errors import SpankError, StaleHandleError
from slurmhooks.hooks.points import CONTEXTS, HOOKS
from slurmhooks.spank.fields import ITEMS
from slurmhooks.spank.model import Spank
from slurmhooks.testing import FakeSpank
from slurmhooks.values import ExitStatus
from slurmhooks.workshop.testing.spank import view_for

CALLS = [
    (context, name.removeprefix("spank."))
    for name, spec in HOOKS.items()
    if name.startswith("spank.")
    for context in spec.contexts
]
names = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1)
values = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def view(context: Any = "remote", callback: str | None = None, **keywords: Any) -> tuple[FakeSpank, Any]:
    """Return a stand-in, and the view that handlers get."""
    fake = FakeSpank(context, callback=callback, **keywords)
    return fake, view_for(fake, fake.callback)


def test_contexts_have_slurms_numbers() -> None:
    """The numbers of spank_context_t start with an error, followed by the five contexts."""
    assert CONTEXTS == ("local", "remote", "allocator", "slurmd", "job_script")


# Attributes.


def test_an_unknown_attribute_has_the_nearest_names() -> None:
    """Reading or writing an unknown attribute raises, with similar names of items."""
    _, spank = view()
    with pytest.raises(AttributeError, match=r"^spank has no 'jobid'; nearest: job_id"):
        spank.jobid  # noqa: B018
    with pytest.raises(AttributeError, match=r"^spank has no 'jobid'; nearest: job_id"):
        spank.jobid = 5
    for near in ("getenv", "commits", "rollbac"):
        with pytest.raises(AttributeError) as caught:
            getattr(spank, near)
        assert "_getenv" not in str(caught.value)
        assert "commit," not in str(caught.value)
        assert "rollback" not in str(caught.value)


@pytest.mark.parametrize("name", ["job_id", "env", "job_control_env", "context", "args", "step_name", "commit"])
def test_nothing_can_be_assigned(name: str) -> None:
    """Assignments raise; only the environments can be written to."""
    _, spank = view()
    with pytest.raises(AttributeError, match=rf"^spank\.{name} is read-only$"):
        setattr(spank, name, {})


def test_what_is_known_of_the_call() -> None:
    """Context, callback and arguments are set in every call; repr() has the first two."""
    for context, callback in CALLS:
        _, spank = view(context, callback, args=["quota=5"])
        assert (spank.context, spank.callback, spank.args) == (context, callback, ("quota=5",))
        assert repr(spank) == f"<Spank {callback} in {context}>"


# Items.


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_items_answer_where_slurm_does(item: Any) -> None:
    """In every call, an item has a value, or raises SpankError with Slurm's name and where it works."""
    assert item.name == item.item.removeprefix("S_").lower()
    assert item.item in (getattr(Spank, item.name).__doc__ or "")
    for context, callback in CALLS:
        _, spank = view(context, callback)

        def use(spank: Any = spank) -> None:
            value = getattr(spank, item.name)
            if item.argument is not None:
                value(4242 if item.argument == "pid" else 0)

        if item.where.includes(context, callback):
            use()
            continue
        with pytest.raises(SpankError) as caught:
            use()
        assert caught.value.item == item.item
        assert caught.value.code.startswith("ESPANK_")
        assert f"not available in {callback} ({context}); it works {item.where.text}" in str(caught.value)


def test_items_have_their_values() -> None:
    """Items have their values; unset ones are None."""
    items = {
        "job_id": 7,
        "job_ncpus": 65535,
        "job_alloc_mem": 1 << 40,
        "slurm_version": "26.05.5",
        "step_alloc_cores": None,
        "job_argv": ["hostname", "\udcff"],
        "job_supplementary_gids": [1, 2],
        "job_array_id": 6,
        "job_array_task_id": 3,
    }
    _, spank = view(items=items)
    assert {name: getattr(spank, name) for name in items} == items
    _, spank = view()
    assert spank.job_array_task_id is None


def test_special_steps_have_names() -> None:
    """A special step has a number and a name."""
    assert view(items={"job_stepid": 0xFFFFFFFB})[1].step_name == "batch"
    assert view(items={"job_stepid": 3})[1].step_name == "3"


@pytest.mark.parametrize(
    ("raw", "exit_code", "signal", "core", "shown"),
    [
        (0, 0, None, False, "<ExitStatus exit code 0>"),
        (3 << 8, 3, None, False, "<ExitStatus exit code 3>"),
        (9, None, 9, False, "<ExitStatus signal 9>"),
        (11 | 0x80, None, 11, True, "<ExitStatus signal 11>"),
    ],
)
def test_exit_status_taken_apart(raw: int, exit_code: int | None, signal: int | None, core: bool, shown: str) -> None:
    """The exit status has the exit code, or the signal and whether a core file was written."""
    status = view(callback="task_exit", items={"task_exit_status": raw})[1].task_exit_status
    assert (status.raw, status.exit_code, status.signal, status.core_dumped) == (raw, exit_code, signal, core)
    assert repr(status) == shown
    assert status == raw
    assert status == ExitStatus(raw)
    assert hash(status) == hash(raw)


def test_items_with_an_argument() -> None:
    """Items with an argument return ids of tasks; an unknown argument raises."""
    _, spank = view(callback="task_exit", items={"job_pid_to_global_id": {100: 5}})
    assert spank.job_pid_to_global_id(100) == 5
    with pytest.raises(SpankError) as caught:
        spank.job_pid_to_global_id(101)
    assert caught.value.code == "ESPANK_NOEXIST"
    with pytest.raises(TypeError, match=r"^pid takes an int, not '100'$"):
        spank.job_pid_to_global_id("100")
    for wrong in (-1, 1 << 32):
        with pytest.raises(ValueError, match=rf"^pid takes 0 to 4294967295, not {wrong}$"):
            spank.job_pid_to_global_id(wrong)


# Environments.


@pytest.mark.parametrize(("context", "callback"), CALLS)
def test_the_environment_can_be_changed_everywhere(context: str, callback: str) -> None:
    """spank.env is the environment of the job in slurmstepd, of the process elsewhere; writes are staged."""
    fake, spank = view(context, callback, env={"PATH": "/bin", "HOME": "/root"})
    assert isinstance(spank.env, MutableMapping)
    spank.env["NEW"] = "1"
    del spank.env["HOME"]
    assert spank.env == {"PATH": "/bin", "NEW": "1"}
    assert fake.env == {"PATH": "/bin", "HOME": "/root"}
    spank.commit()
    assert fake.env == {"PATH": "/bin", "NEW": "1"}
    assert spank.env["PATH"] == "/bin"


@given(st.sampled_from(["remote", "local"]), names, values)
def test_variables_round_trip(context: str, name: str, value: str) -> None:
    """Every valid text is read as it was written, in every process."""
    fake, spank = view(context)
    spank.env[name] = value
    spank.commit()
    assert fake.env[name] == value
    assert dict(fake.env) == {name: value}


def test_variables_of_any_length() -> None:
    """A value that is longer than the first buffer is read completely."""
    long = "x" * 100_000
    assert view(env={"LONG": long})[1].env["LONG"] == long


def test_a_loop_does_not_search_for_each_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop reads all variables at once, since spank_getenv() would search 100,000 variables for each of them."""
    _, spank = view(env={"A": "1", "B": "2"})
    spank.env["A"] = "3"
    monkeypatch.setattr(type(spank._calls.lib), "spank_getenv", None)
    assert dict(spank.env) == {"A": "3", "B": "2"}
    assert list(spank.env.items()) == [("A", "3"), ("B", "2")]


@pytest.mark.parametrize("text", ["9" * 5000, "²", "-1", "x"])
def test_a_restart_count_that_a_user_has_set(text: str) -> None:
    """A value that a user sets in the variable before the first restart is ignored."""
    assert view(env={"SLURM_RESTART_COUNT": text})[1].slurm_restart_count in (None, 0)


def test_environments_are_updated_in_place() -> None:
    """``|=`` writes to an environment; Python then assigns the same object, which is accepted, and no other is."""
    fake, spank = view("local", "init_post_opt", env={"A": "1"})
    spank.env |= {"B": "2"}
    spank.job_control_env |= {"C": "3"}
    with pytest.raises(AttributeError, match="read-only"):
        spank.env = spank.job_control_env
    spank.commit()
    assert fake._slurm.job_control_env == {"C": "3"}
    assert spank.env["B"] == "2"


def test_job_env_is_a_copy() -> None:
    """job_env is a copy: writing to it changes nothing."""
    _, spank = view(env={"A": "1"})
    spank.job_env["A"] = "2"
    assert spank.env["A"] == "1"


@pytest.mark.parametrize("context", ["local", "allocator"])
def test_the_job_control_environment_where_it_is_made(context: str) -> None:
    """srun, sbatch and salloc can read and write it by name; listing it raises."""
    fake, spank = view(context, "init_post_opt", job_control_env={"A": "1"})
    assert spank.job_control_env["A"] == "1"
    assert "B" not in spank.job_control_env
    spank.job_control_env["B"] = "2"
    del spank.job_control_env["A"]
    spank.commit()
    assert fake._slurm.job_control_env == {"B": "2"}
    with pytest.raises(SpankError):
        list(spank.job_control_env)
    assert "spank_job_control_getenv" in repr(spank.job_control_env)


def test_the_job_control_environment_in_prolog() -> None:
    """Prolog and epilog can read it, from variables that start with SPANK_, but not write it."""
    _, spank = view("job_script", "job_prolog", job_control_env={"A": "1"})
    assert spank.job_control_env == {"A": "1"}
    assert spank.env["SPANK_A"] == "1"
    writes: list[Callable[[], object]] = [
        lambda: spank.job_control_env.__setitem__("A", "2"),
        lambda: spank.job_control_env.__delitem__("A"),
        lambda: spank.job_control_env.replace({}),
        spank.job_control_env.clear,
    ]
    for write in writes:
        with pytest.raises(SpankError, match="job_prolog"):
            write()


def test_the_job_control_environment_in_a_task() -> None:
    """In a task, reading it raises with Slurm's code."""
    with pytest.raises(SpankError) as caught:
        view()[1].job_control_env["A"]
    assert caught.value.code == "ESPANK_NOT_LOCAL"


# The task's command.


@pytest.mark.parametrize("callback", ["task_init", "task_init_privileged"])
def test_words_before_the_command(callback: str) -> None:
    """Words of later calls come first; all are prepended after the handlers have passed."""
    fake, spank = view(callback=callback)
    spank.prepend_task_argv(["numactl", "-N0"])
    spank.prepend_task_argv(("time",))
    assert fake.prepended_task_argv == []
    spank.commit()
    assert fake.prepended_task_argv == ["time", "numactl", "-N0"]


def test_words_are_words() -> None:
    """A single text, and a list with an invalid word, are refused as a whole."""
    fake, spank = view()
    with pytest.raises(TypeError, match=r"^prepend_task_argv takes a list of str, not 'numactl'$"):
        spank.prepend_task_argv("numactl")
    for wrong in (["a", 5], ["a", "b\0"]):
        with pytest.raises((TypeError, ValueError)):
            spank.prepend_task_argv(wrong)
    spank.commit()
    assert fake.prepended_task_argv == []


@pytest.mark.parametrize(("context", "callback"), [call for call in CALLS if not call[1].startswith("task_init")])
def test_only_a_tasks_start_has_a_command(context: str, callback: str) -> None:
    """In other callbacks the call raises, with where it works."""
    with pytest.raises(SpankError, match=r"works in task_init_privileged and task_init \(ESPANK_NOT_TASK\)"):
        view(context, callback)[1].prepend_task_argv(["time"])


def test_releases_without_it_say_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 23.11 the call raises, with the release that it needs."""
    fake, spank = view()
    monkeypatch.delattr(type(fake._slurm), "spank_prepend_task_argv")
    with pytest.raises(SpankError, match=r"works in Slurm 23\.11 and later \(ESPANK_NOT_AVAIL\)"):
        spank.prepend_task_argv(["time"])


def test_symbols() -> None:
    """symbol_supported() returns Slurm's answer."""
    _, spank = view()
    assert spank.symbol_supported("slurm_spank_task_init") is True
    assert spank.symbol_supported("slurm_spank_nothing") is False


# Staged writes, and the end of a view.

WRITES: dict[str, Callable[[Any], object]] = {
    "env": lambda spank: spank.env.update(A="2"),
    "env emptied": lambda spank: spank.env.clear(),
    "argv": lambda spank: spank.prepend_task_argv(["b"]),
}
CONTROL_WRITES: dict[str, Callable[[Any], object]] = {
    "env": WRITES["env"],
    "control": lambda spank: spank.job_control_env.update(B="2"),
    "control deleted": lambda spank: spank.job_control_env.pop("C", None),
}


@pytest.mark.parametrize(
    ("spank", "first", "second"),
    [
        (view(*call, env={"A": "1"}, job_control_env={"C": "1"})[1], first, second)
        for call, writes in ((("remote", "task_init"), WRITES), (("allocator", "init"), CONTROL_WRITES))
        for first in [None, *writes.values()]
        for second in writes.values()
    ],
)
def test_rollback_undoes_what_came_after_the_savepoint(
    spank: Any, first: Callable[[Any], object] | None, second: Callable[[Any], object]
) -> None:
    """rollback() undoes later writes and keeps earlier ones."""

    def content() -> tuple[object, ...]:
        return dict(spank.env), spank.job_control_env.savepoint(), list(spank._prepended)

    if first is not None:
        first(spank)
    before = content()
    savepoint = spank.savepoint()
    second(spank)
    spank.rollback(savepoint)
    assert content() == before


@pytest.mark.parametrize(
    "use",
    [
        lambda spank: spank.job_id,
        lambda spank: spank.job_argv,
        lambda spank: spank.job_supplementary_gids,
        lambda spank: spank.job_env,
        lambda spank: spank.job_local_to_global_id(0),
        lambda spank: spank.env["A"],
        lambda spank: spank.env.update(A="2"),
        lambda spank: spank.job_control_env.get("A"),
        lambda spank: spank.prepend_task_argv(["a"]),
        lambda spank: spank.symbol_supported("x"),
    ],
)
def test_every_use_after_the_call_is_stale(use: Callable[[Any], object]) -> None:
    """After close(), every use raises StaleHandleError, and calls nothing of Slurm."""
    _, spank = view(env={"A": "1"})
    spank.close()
    spank._calls = None
    with pytest.raises(StaleHandleError):
        use(spank)


def test_an_environment_that_outlives_its_call_is_stale() -> None:
    """An environment also raises StaleHandleError after close()."""
    _, spank = view(env={"A": "1"})
    env = spank.env
    spank.close()
    with pytest.raises(StaleHandleError):
        env["A"]
