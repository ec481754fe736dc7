# SPDX-License-Identifier: GPL-2.0-or-later
"""``spank.state``: the mapping, its file, and who may use it."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.errors import SpankError, StaleHandleError
from slurmhooks.hooks.points import HOOKS
from slurmhooks.spank.state_file import StateFile, decoded, encoded, frozen, key_before, key_of
from slurmhooks.testing import FakeSpank, launch, run
from slurmhooks.testing.spank import view_for

CALLS = [
    (context, name.removeprefix("spank."))
    for name, spec in HOOKS.items()
    if name.startswith("spank.")
    for context in spec.contexts
]
AS_ROOT = [("remote", name) for name in ("init", "init_post_opt", "task_post_fork", "task_exit", "exit")]
WRITABLE = [("job_script", "job_prolog"), *AS_ROOT, ("job_script", "job_epilog")]
READABLE = [*WRITABLE, *[("remote", name) for name in ("user_init", "task_init_privileged", "task_init")]]

BOTH = """
@hook.spank.job_prolog(order=99)
def last_of_prolog(spank): pass

@hook.spank.job_epilog(order=99)
def last_of_epilog(spank): pass
"""

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
    max_leaves=8,
)


def plain(value: Any) -> Any:
    """Return a frozen value as lists and dicts."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return {name: plain(each) for name, each in value.items()} if hasattr(value, "items") else value


def file_in(folder: Path, job: int = 7, node: str = "n1", words: tuple[str, ...] = ("a.py",)) -> StateFile:
    """Return a file below a folder that this user owns."""
    return StateFile(node, job, words, str(folder / "state"), os.getuid())


def view(context: Any, callback: str, state: dict[str, Any] | None = None) -> Any:
    """Return the view of a callback."""
    return view_for(FakeSpank(context, callback=callback, state=state), callback)


# Values.


@given(st.dictionaries(st.text(), values, max_size=3))
def test_values_come_back(written: dict[str, Any]) -> None:
    """Every JSON value is read as it was written, and the file is JSON as other programs read it."""
    text = encoded(written, "x")
    assert plain(decoded(text.encode())) == written
    assert json.loads(text) == written


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
    assert plain(spank.state["again"]) == {"list": [1]}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{} {}", b'{"a": NaN}', b"\xff", b'{"a"', b"nul"])
def test_a_damaged_file_is_an_error(tmp_path: Path, data: bytes) -> None:
    """What is not a JSON object is an error, and not an empty state."""
    with pytest.raises(ValueError):  # noqa: PT011 - the texts differ
        decoded(data)
    file = file_in(tmp_path)
    file.begin()
    Path(str(file)).write_bytes(data)
    with pytest.raises(ValueError):  # noqa: PT011
        file.write({"b": 1}, [])
    assert Path(str(file)).read_bytes() == data


# The file.


def test_each_job_node_and_line_has_its_own_file(tmp_path: Path) -> None:
    """Files of other jobs, nodes and lines of plugstack.conf are not touched."""
    files = [file_in(tmp_path), file_in(tmp_path, job=8), file_in(tmp_path, node="n2"), file_in(tmp_path, words=("b",))]
    for number, file in enumerate(files):
        file.write({"number": number}, [], begin=True)
    files[0].remove()
    files[0].remove()
    assert [file.read() for file in files] == [None, {"number": 1}, {"number": 2}, {"number": 3}]


def test_only_root_can_use_the_folder(tmp_path: Path) -> None:
    """Folder and files are closed to others, whatever the umask is; a folder that others can use is refused."""
    before = os.umask(0)
    try:
        file_in(tmp_path).write({"a": 1}, [], begin=True)
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state", *(tmp_path / "state").iterdir())}
    assert set(modes.values()) == {0o700, 0o600}
    (tmp_path / "state").chmod(0o750)
    calls: list[Callable[[], object]] = [file_in(tmp_path).read, file_in(tmp_path).remove]
    calls.append(lambda: file_in(tmp_path).write({"a": 2}, []))
    for call in calls:
        with pytest.raises(PermissionError, match="others than root could have written it"):
            call()
    other = StateFile("n1", 7, ("a.py",), str(tmp_path / "state"), os.getuid() + 1)
    (tmp_path / "state").chmod(0o700)
    with pytest.raises(PermissionError):
        other.read()


def test_a_link_is_no_folder(tmp_path: Path) -> None:
    """The folder is not opened through a link."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to("real")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        file_in(tmp_path).begin()


def test_nothing_is_lost_when_many_write(tmp_path: Path) -> None:
    """Processes that write different names at the same time lose no write, and readers see complete files."""
    file = file_in(tmp_path)
    file.write({"start": "x" * 20000}, [], begin=True)
    children = []
    for number in range(4):
        child = os.fork()
        if not child:
            code = 1
            try:
                own = file_in(tmp_path)
                for turn in range(25):
                    own.write({f"{number} {turn}": turn}, [f"{number} {turn - 1}"] if turn % 2 else [])
                    assert (own.read() or {})["start"] == "x" * 20000
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert len(file.read() or {}) == 1 + 4 * 13


def test_a_writer_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a writer dies before the end, the file is as before, and later writes work."""
    file = file_in(tmp_path)
    file.write({"a": 1}, [], begin=True)
    with monkeypatch.context() as patch:
        patch.setattr("posix.rename", lambda *args, **keywords: os._exit(0))
        child = os.fork()
        if not child:
            file.write({"a": 2, "b": "x" * 100}, [])
        os.waitpid(child, 0)
    assert file.read() == {"a": 1}
    file.write({"c": 3}, [])
    assert file.read() == {"a": 1, "c": 3}
    file.remove()
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["lock"]


def test_a_folder_that_was_hidden(tmp_path: Path) -> None:
    """A process that holds the folder uses it even if the path leads elsewhere by then."""
    file = file_in(tmp_path)
    file.hold()  # no effect: it does not exist yet
    file.write({"a": 1}, [], begin=True)
    file.hold()
    (tmp_path / "state").rename(tmp_path / "moved")
    file.write({"b": 2}, ["a"])
    assert file.read() == {"b": 2}
    assert file_in(tmp_path).read() is None


def test_a_state_that_no_prolog_has_begun(tmp_path: Path) -> None:
    """Without the prolog's file nothing can be written: no epilog would remove it."""
    file = file_in(tmp_path)
    for _ in range(2):
        assert file.read() is None
        with pytest.raises(FileNotFoundError, match="the prolog of the job, which begins its state, has not run"):
            file.write({"a": 1}, [])
        file_in(tmp_path, job=8).begin()  # now the folder exists
    assert file_in(tmp_path, job=8).read() == {}


# Who may use it.


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


def test_frozen_is_independent() -> None:
    """frozen() copies at every depth."""
    inner: dict[str, Any] = {"a": [1]}
    copy = frozen([inner], "x")
    inner["a"].append(2)
    assert plain(copy) == [{"a": [1]}]


# Edits of plugstack.conf.

LINES = st.lists(st.tuples(st.sampled_from(["a.py", "b.py", "c.py"]), st.sampled_from("xyz")), unique=True, max_size=4)


@given(LINES, LINES)
def test_lines_never_share_a_file(before: list[tuple[str, ...]], after: list[tuple[str, ...]]) -> None:
    """After any edit, a line that is unchanged keeps its file, and no other line gets the same one."""
    keys = [key_of(each) for each in before]
    found = {each: key_of(each) if each in before else key_before(each, after, keys) for each in after}
    taken = [key for key in found.values() if key is not None]
    assert len(set(taken)) == len(taken)
    assert set(taken) <= {*keys}


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("a1", "a2", {"a2": "a1"}),
        ("a1", "b1", {"b1": "a1"}),
        ("a1", "b1 a2", {"a2": "a1", "b1": None}),
        ("a1 b1", "b2 a2", {"a2": "a1", "b2": "b1"}),
        ("a1 a2", "a2 a3", {"a3": "a1"}),
        ("a1 b1", "a2 c1", {"a2": "a1", "c1": "b1"}),
        ("a1 b1", "c1 d1", {"c1": None, "d1": None}),
        ("a1 a2", "a3 a4", {"a3": None, "a4": None}),
        ("a1 b1", "a1 c1 d1", {"c1": None, "d1": None}),
    ],
)
def test_a_line_after_an_edit(before: str, after: str, pairs: dict[str, str | None]) -> None:
    """A line takes over the file of the one that it was, where that is certain: new arguments, then a new GLOB."""
    keys = [key_of(tuple(each)) for each in before.split()]
    for line, old in pairs.items():
        expected = None if old is None else key_of(tuple(old))
        assert key_before(tuple(line), [tuple(each) for each in after.split()], keys) == expected


def test_a_file_after_an_edit(tmp_path: Path) -> None:
    """The state of a line survives new arguments; a new prolog begins another one, and only it is left."""
    old, new = file_in(tmp_path, words=("a.py", "x")), file_in(tmp_path, words=("a.py", "y"))
    old.begin()
    old.write({"name": 1}, ())
    file_in(tmp_path, job=8, words=("b.py",)).begin()
    new.find(lambda: [("a.py", "y")])
    assert new.read() == {"name": 1}
    new.write({"more": 2}, ())
    assert old.read() == {"name": 1, "more": 2}
    new.remove()
    new.begin()
    assert (old.read(), new.read()) == (None, {})
