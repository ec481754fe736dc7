# SPDX-License-Identifier: GPL-2.0-or-later
"""``spank.state``: the mapping, and who may use it."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.errors import SpankError, StaleHandleError
from slurmhooks.hooks.points import HOOKS
from slurmhooks.testing import FakeSpank, launch, run
from slurmhooks.workshop.testing.spank import view_for

CALLS = [
    (context, name.removeprefix("spank."))
    for name, spec in HOOKS.items()
    if name.startswith("spank.")
    for context in spec.contexts
]
AS_ROOT = [("remote", name) for name in ("init", "init_post_opt", "task_post_fork", "task_exit", "exit")]
WRITABLE = [("job_script", "job_prolog"), *AS_ROOT, ("job_script", "job_epilog")]
READABLE = [(context, callback) for context, callback in CALLS if context in ("remote", "job_script")]

BOTH = """
@hook.spank.job_prolog(order=99)
def last_of_prolog(spank): pass

@hook.spank.job_epilog(order=99)
def last_of_epilog(spank): pass
"""


def view(context: Any, callback: str, state: dict[str, Any] | None = None) -> Any:
    """Return the view of a callback."""
    return view_for(FakeSpank(context, callback=callback, state=state), callback)


@pytest.mark.parametrize(
    "value",
    [b"x", {1: 2}, {1, 2}, float("nan"), float("inf"), Path("/"), [[b"x"]], {"a": {"b": 1j}}, range(3)],
    ids=repr,
)
def test_other_values_are_refused(value: object) -> None:
    """What JSON cannot hold is refused when it is assigned, with its name."""
    spank = view("job_script", "job_prolog")
    with pytest.raises(TypeError, match=r"spank\.state\['name'\]: .* is no JSON value"):
        spank.state["name"] = value
    with pytest.raises(TypeError, match=r"names of spank\.state are str, not 1"):
        spank.state[1] = "x"


def test_limits_of_values() -> None:
    """A value that is too long or too deep is refused."""
    spank = view("job_script", "job_prolog")
    with pytest.raises(ValueError, match="70002 characters in JSON; the limit is 65536"):
        spank.state["name"] = "x" * 70000
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(ValueError, match="more than 20 lists"):
        spank.state["name"] = deep


def test_a_value_cannot_be_changed_in_place() -> None:
    """A list or dict that was read raises on a change, which would be lost; the handler's own object is copied."""
    spank = view("job_script", "job_prolog")
    own = {"list": [1]}
    spank.state["own"] = own
    own["list"].append(2)
    assert spank.state["own"] == {"list": (1,)}
    with pytest.raises(AttributeError):
        spank.state["own"]["list"].append(2)
    with pytest.raises(TypeError):
        spank.state["own"]["new"] = 1
    spank.state["again"] = spank.state["own"]
    assert spank.state["again"] == {"list": (1,)}


def test_where_it_works() -> None:
    """Each callback can read and write the state, only read it, or gets an error that says where it works."""
    for context, callback in CALLS:
        spank = view(context, callback, {"a": 1})
        if (context, callback) in READABLE:
            assert spank.state["a"] == 1
        else:
            with pytest.raises(SpankError, match="it works in slurmstepd, prolog and epilog"):
                spank.state.get("a")
        if (context, callback) in WRITABLE:
            spank.state["b"] = 2
            assert dict(spank.state) == {"a": 1, "b": 2}
        else:
            text = "read-only in" if (context, callback) in READABLE else "not available in"
            with pytest.raises(SpankError, match=text):
                spank.state["b"] = 2
            with pytest.raises(SpankError, match=text):
                del spank.state["a"]


def test_it_is_a_mapping() -> None:
    """It has the methods of a mutable mapping; an unset name is a KeyError; after the call it is stale."""
    spank = view("remote", "init", {"a": 1, "b": None})
    state = spank.state
    assert (list(state), len(state), "b" in state, state["b"]) == (["a", "b"], 2, True, None)
    del state["a"]
    with pytest.raises(KeyError):
        del state["a"]
    with pytest.raises(KeyError):
        state["a"]
    state["a"] = 3
    spank.state |= {"c": [1], "d": 2}
    assert state.pop("d") == 2
    assert repr(state) == "{'a': 3, 'b': None, 'c': (1,)}"
    with pytest.raises(TypeError):
        spank.state |= {"e": 1, "f": b""}
    assert "e" not in state
    with pytest.raises(AttributeError, match=r"spank\.state is read-only"):
        spank.state = {}
    spank.close()
    with pytest.raises(StaleHandleError):
        state["a"]
    with pytest.raises(StaleHandleError):
        spank.state.get("a")
    assert repr(state) == "<State of a call that is over>"


HANDLERS = f"""
from slurmhooks import Reject, hook
{BOTH}
@hook.spank.init(contexts="remote", on_error="ignore", order=1)
def lenient(spank):
    spank.state["lost"] = 1
    raise ValueError

@hook.spank.init(contexts="remote", order=2)
def second(spank):
    assert dict(spank.state) == {{"old": 1}}
    spank.state["kept"] = 1
    del spank.state["old"]

@hook.spank.exit(contexts="remote")
def refuse(spank):
    spank.state["lost"] = 1
    raise Reject("no")
"""


def test_writes_are_applied_together(tmp_path: Path) -> None:
    """Writes count after all handlers have passed; those of a lenient handler that failed are undone."""
    path = tmp_path / "hooks.py"
    path.write_text(HANDLERS)
    spank = FakeSpank("remote", state={"old": 1})
    result = run(path, "spank.init", spank=spank)
    assert result.accepted
    assert result.changes == {"state": {"old": None, "kept": 1}}
    spank = FakeSpank("remote", state={"old": 1})
    assert not run(path, "spank.exit", spank=spank).accepted
    assert dict(spank.state) == {"old": 1}


@pytest.mark.parametrize(("handlers", "text"), [("job_prolog", "job_epilog"), ("job_epilog", "job_prolog"), (None, "")])
def test_it_needs_prolog_and_epilog(tmp_path: Path, handlers: str | None, text: str) -> None:
    """Without a handler in the prolog and in the epilog, a state would have no beginning or no end: it is refused."""
    path = tmp_path / "hooks.py"
    other = "" if handlers is None else f"\n@hook.spank.{handlers}\ndef other(spank): pass\n"
    path.write_text(
        f"from slurmhooks import hook{other}\n@hook.spank.init(contexts='remote')\ndef use(spank):\n"
        "    assert spank.state.get('a') is None\n    spank.state['a'] = 1\n"
    )
    result = run(path, "spank.init", spank=FakeSpank("remote"))
    assert not result.accepted
    wanted = f"needs a handler of {text or 'job_prolog and of job_epilog'} in the hook files of this line"
    assert wanted in "\n".join(result.log)


LAUNCH = """
from slurmhooks import hook, log

def note(spank):
    log.info("%s %s", spank.callback, sorted(spank.state.items()))

@hook.spank.job_prolog
def prolog(spank):
    note(spank)
    spank.state["prolog"] = [1, {"two": 3}]

@hook.spank.init(contexts="remote")
@hook.spank.init_post_opt(contexts="remote")
@hook.spank.task_post_fork
@hook.spank.exit(contexts="remote")
def step(spank):
    note(spank)
    spank.state[spank.callback] = 1

@hook.spank.user_init
@hook.spank.task_init_privileged
@hook.spank.task_init
@hook.spank.job_epilog
def look(spank):
    note(spank)
"""


def test_a_launch_has_one_state(tmp_path: Path) -> None:
    """In a launch without Slurm, the processes share the state; tasks see it as it was before they were forked."""
    path = tmp_path / "hooks.py"
    path.write_text(LAUNCH)
    result = launch(path, tasks=2)
    assert result.accepted, result.log
    seen: dict[str, list[str]] = {}
    for line in result.log:
        callback, _, shown = line.removeprefix("info: ").partition(" ")
        seen.setdefault(callback, []).append(shown)
    assert seen["job_prolog"] == ["[]"]
    forked = "[('init', 1), ('init_post_opt', 1), ('prolog', (1, mappingproxy({'two': 3})))]"
    assert seen["user_init"] == [forked]
    assert seen["task_init_privileged"] == seen["task_init"] == [forked] * 2
    assert "('task_post_fork', 1)" in seen["exit"][0]
    assert "('exit', 1), ('init', 1)" in seen["job_epilog"][0]
