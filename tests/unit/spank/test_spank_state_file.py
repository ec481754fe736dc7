# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of ``spank.state``: its values, who can write it, and which line of plugstack.conf it belongs to."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.handlers.registry import Registry
from slurmhooks.spank.state import LineState
from slurmhooks.spank.state_file import StateFile, decoded, encoded, frozen, key_before, key_of

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


@given(st.dictionaries(st.text(), values, max_size=3))
def test_values_come_back(written: dict[str, Any]) -> None:
    """Every JSON value is read as it was written, and the file is JSON as other programs read it."""
    text = encoded(written, "x")
    assert plain(decoded(text.encode())) == written
    assert json.loads(text) == written


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


def test_frozen_is_independent() -> None:
    """frozen() copies at every depth."""
    inner: dict[str, Any] = {"a": [1]}
    copy = frozen([inner], "x")
    inner["a"].append(2)
    assert plain(copy) == [{"a": [1]}]


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


def test_jobs_of_two_clusters_on_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of the same id on a node of the same name has another file if its slurm.conf is elsewhere."""
    calls: Any = SimpleNamespace(
        callback="job_prolog",
        process_variable=lambda _: "n1",
        ffi=SimpleNamespace(new=lambda _: [7], NULL=None),
        get_item=lambda *_: None,
    )
    names = set()
    for folder in ("/etc/slurm", "/etc/slurmb"):
        monkeypatch.setenv("SLURM_CONF", f"{folder}/slurm.conf")
        names.add(str(LineState((), Registry((), ())).open(calls)))
    assert len(names) == 2
