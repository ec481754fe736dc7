# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of a bundle's config.json."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from slurmhooks.errors import Reject
from slurmhooks.scrun import oci
from slurmhooks.scrun.errors import BundleError

KEYS = st.text(max_size=8)
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
FULL: dict[str, Any] = {
    "x-site": {"a": [1, None, {"deep": 1.5}]},
    "ociVersion": "1.0.2",
    "process": {
        "user": {"uid": 7, "gid": 8, "additionalGids": [1], "x": 1},
        "args": ["sh"],
        "env": ["A=1"],
        "cwd": "/",
        "rlimits": [{"type": "RLIMIT_NOFILE", "soft": 1, "hard": 18446744073709551615}],
        "scheduler": {"policy": "SCHED_FIFO"},
    },
    "root": {"path": "rootfs"},
    "mounts": [{"destination": "/proc", "type": "proc", "source": "proc", "extStrSomething": "x"}],
    "hooks": {"prestart": [{"path": "/bin/true"}], "later": []},
    "linux": {"namespaces": [{"type": "pid"}], "resources": {"devices": [{"allow": False}]}, "intelRdt": {}},
}


def parsed(content: object) -> oci.Config:
    """Return the configuration with some content."""
    return oci.parse(json.dumps(content).encode(), "/b/config.json")


def test_everything_comes_back_in_its_order() -> None:
    """An unchanged configuration is written as it was read, including unknown keys and the order of keys."""
    assert json.dumps(parsed(FULL).to_json()) == json.dumps(FULL)


@given(extra=st.dictionaries(KEYS, ANY_JSON, max_size=4), inner=st.dictionaries(KEYS, ANY_JSON, max_size=4))
def test_unknown_keys_survive(extra: dict[str, Any], inner: dict[str, Any]) -> None:
    """Keys that the model does not declare are written back, whatever their names and values are."""
    known = set(oci.Config.model_fields)
    content = {**{key: extra[key] for key in extra if key not in known}, "ociVersion": "1.0.0"}
    content["linux"] = {key: inner[key] for key in inner if key not in oci.Linux.model_fields}
    assert parsed(content).to_json() == content


def test_null_is_absence() -> None:
    """A null, which tools in Go write, reads like a missing key."""
    config = parsed(
        {"ociVersion": "1", "mounts": None, "linux": None, "hooks": {"prestart": None}, "annotations": None}
    )
    assert config.mounts == []
    assert config.linux is None
    assert config.annotations == {}
    assert config.to_json()["linux"] is None


def test_changes_are_written() -> None:
    """Assigned, appended and removed values are in the file; missing keys that were only read are not."""
    config = parsed(FULL)
    assert config.process is not None
    assert config.linux is not None
    config.process.env.append("B=2")
    config.process.rlimits = []
    del config.hooks
    config.hostname = "new"
    config.linux.uidMappings = [oci.IDMapping(containerID=0, hostID=1, size=1)]
    assert config.linux.gidMappings == []
    written = config.to_json()
    assert written["process"]["env"] == ["A=1", "B=2"]
    assert written["process"]["rlimits"] == []
    assert "hooks" not in written
    assert written["hostname"] == "new"
    assert written["linux"]["uidMappings"] == [{"containerID": 0, "hostID": 1, "size": 1}]
    assert "gidMappings" not in written["linux"]


def test_none_removes() -> None:
    """Assigning None to an optional key removes it."""
    config = parsed({"ociVersion": "1", "linux": {}})
    assert config.linux is not None
    config.linux.cgroupsPath = "/a"
    config.linux.cgroupsPath = None
    assert config.to_json()["linux"] == {}


def test_a_required_key_stays() -> None:
    """What the specification requires cannot be removed."""
    with pytest.raises(AttributeError, match="required"):
        del parsed(FULL).ociVersion


def test_a_wrong_assignment_raises_at_once() -> None:
    """An assignment of the wrong type is refused."""
    config = parsed(FULL)
    with pytest.raises(ValidationError, match="hostname"):
        config.hostname = 3  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({}, "/ociVersion: is missing"),
        ({"ociVersion": 1}, "/ociVersion: "),
        ({"ociVersion": "1", "mounts": {}}, "/mounts: "),
        ({"ociVersion": "1", "mounts": [{"destination": "/a"}, {}]}, "/mounts/1/destination: is missing"),
        ({"ociVersion": "1", "process": {"cwd": "/", "env": ["A", 2]}}, "/process/env/1: "),
        ({"ociVersion": "1", "mounts": [{"destination": "/", "source": "/a\0"}]}, "/mounts/0/source: "),
        ({"ociVersion": "1", "process": {"cwd": "/", "user": {"uid": -1}}}, "/process/user/uid: "),
        ({"ociVersion": "1", "process": {"cwd": "/", "terminal": "yes"}}, "/process/terminal: "),
        ({"ociVersion": "1", "annotations": {"a/b~c": 1}}, "/annotations/a~1b~0c: "),
        ({"ociVersion": "1", "linux": []}, "/linux: should be an object"),
        ([], "a configuration is a JSON object, not list"),
    ],
)
def test_errors_name_file_and_place(content: object, place: str) -> None:
    """The refusal of an invalid configuration names the file and the place in it."""
    with pytest.raises(BundleError) as caught:
        parsed(content)
    assert isinstance(caught.value, Reject)
    assert caught.value.text.startswith("/b/config.json: ")
    assert place in caught.value.text


def test_every_error_at_once() -> None:
    """All invalid places are reported at once, one line each."""
    with pytest.raises(BundleError) as caught:
        parsed({"ociVersion": 1, "mounts": [{}], "linux": 3})
    assert len(caught.value.text.splitlines()) == 3


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff\xfe{}", b'{"a":1}trailing', b"[" * 100_000, b'{"a":NaN}', b'{"a":-Infinity}']
)
def test_what_is_not_json(raw: bytes) -> None:
    """Text that is not JSON results in one line that names the file."""
    with pytest.raises(BundleError, match=r"^/b/config\.json: (not JSON|nested)"):
        oci.parse(raw, "/b/config.json")


@pytest.mark.parametrize("value", [b"1e999", b"[" * 600 + b"]" * 600])
def test_what_can_be_read_and_not_written(value: bytes) -> None:
    """A number that Python reads as infinite, or values that are nested too deeply, result in one line that says so."""
    config = oci.parse(b'{"ociVersion":"1","linux":{"resources":{"a":%s}}}' % value, "/b/config.json")
    with pytest.raises(BundleError, match=r"^/b/config\.json: (not for JSON|nested too deeply)"):
        oci.encoded(config, "/b/config.json")


def test_missing(tmp_path: Path) -> None:
    """A missing file results in one line that names it."""
    with pytest.raises(BundleError, match=r"config\.json: No such file or directory"):
        oci.read(str(tmp_path / "config.json"))


def test_bytes_that_are_not_utf8_survive(tmp_path: Path) -> None:
    """A path in the file may hold any bytes; they are the same after reading and writing."""
    path = tmp_path / "config.json"
    path.write_bytes(b'{"ociVersion":"1","root":{"path":"/a\xff\xe9"},"annotations":{"x":"\\ud800"}}')
    config = oci.read(str(path))
    assert config.root is not None
    assert os.fsencode(config.root.path) == b"/a\xff\xe9"
    oci.write(config, str(path))
    assert b"/a\xff\xe9" in path.read_bytes()
    assert oci.read(str(path)) == config


def test_write_keeps_the_mode_and_replaces_at_once(tmp_path: Path) -> None:
    """The file is replaced atomically and keeps its mode; no temporary file remains."""
    path = tmp_path / "config.json"
    path.write_text("old")
    path.chmod(0o640)
    oci.write(parsed(FULL), str(path))
    assert json.loads(path.read_text()) == FULL
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["config.json"]


def test_write_refuses_what_became_wrong(tmp_path: Path) -> None:
    """Values that were appended to a list are validated before the file is written."""
    config = parsed(FULL)
    config.mounts.append("x")  # type: ignore[arg-type]
    with pytest.raises(BundleError, match="/mounts/1: should be an object"):
        oci.write(config, str(tmp_path / "config.json"))
    assert os.listdir(tmp_path) == []


def test_write_where_one_must_not(tmp_path: Path) -> None:
    """A file that cannot be written is reported in one line with its name."""
    with pytest.raises(BundleError, match=r"nowhere/config\.json: cannot be written: No such file"):
        oci.write(parsed(FULL), str(tmp_path / "nowhere" / "config.json"))
