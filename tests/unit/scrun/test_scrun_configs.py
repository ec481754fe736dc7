# SPDX-License-Identifier: GPL-2.0-or-later
"""Adapting configurations to rootless runtimes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import scrun
from slurmhooks.scrun import oci
from slurmhooks.scrun.errors import StagingError


def config(**keys: Any) -> oci.Config:
    """Return a configuration with some keys."""
    content = {"ociVersion": "1.2.0", "process": {"cwd": "/"}, "root": {"path": "rootfs"}, **keys}
    return oci.parse(json.dumps(content).encode(), "config.json")


def test_rootless() -> None:
    """The configuration of a container engine is changed so that a rootless runtime accepts it; other keys stay."""
    made = config(
        process={
            "cwd": "/",
            "user": {"uid": 5, "gid": 6, "additionalGids": [1, 2]},
            "rlimits": [{"type": "RLIMIT_CORE", "soft": 0, "hard": 0}],
            "noNewPrivileges": True,
        },
        mounts=[
            {"destination": "/dev/pts", "type": "devpts", "options": ["nosuid", "gid=5", "mode=620"]},
            {"destination": "/tmp", "type": "tmpfs", "options": ["uid=1"]},
            {"destination": "/proc", "type": "proc"},
        ],
        hooks={"prestart": [{"path": "/net"}], "poststop": [{"path": "/log"}]},
        linux={"cgroupsPath": "/x", "namespaces": [{"type": "pid"}], "uidMappings": [], "maskedPaths": ["/proc/acpi"]},
    )
    scrun.rootless(made, user_id=2001, group_id=2002)
    assert made.to_json() == {
        "ociVersion": "1.0.0",
        "process": {"cwd": "/", "user": {"uid": 5, "gid": 6}, "noNewPrivileges": True},
        "root": {"path": "rootfs"},
        "mounts": [
            {"destination": "/dev/pts", "type": "devpts", "options": ["nosuid", "mode=620"]},
            {"destination": "/tmp", "type": "tmpfs", "options": []},
            {"destination": "/proc", "type": "proc"},
        ],
        "hooks": {"poststop": [{"path": "/log"}]},
        "linux": {
            "namespaces": [{"type": "pid"}, {"type": "user"}],
            "uidMappings": [{"containerID": 5, "hostID": 2001, "size": 1}],
            "gidMappings": [{"containerID": 6, "hostID": 2002, "size": 1}],
            "maskedPaths": ["/proc/acpi"],
        },
    }


def test_rootless_on_the_least_there_is() -> None:
    """A minimal configuration gets a user namespace and nothing else."""
    made = oci.parse(b'{"ociVersion":"1.1.0"}', "config.json")
    scrun.rootless(made, user_id=1, group_id=2)
    line = [{"containerID": 0, "size": 1}]
    assert made.to_json() == {
        "ociVersion": "1.0.0",
        "linux": {
            "namespaces": [{"type": "user"}],
            "uidMappings": [{**line[0], "hostID": 1}],
            "gidMappings": [{**line[0], "hostID": 2}],
        },
    }


def test_rootless_twice_is_once() -> None:
    """A second call changes nothing."""
    made = config()
    scrun.rootless(made, user_id=1, group_id=1)
    first = made.to_json()
    scrun.rootless(made, user_id=1, group_id=1)
    assert made.to_json() == first


def test_drop_hooks_by_name() -> None:
    """Hooks of other times are removed if they are named."""
    made = config(hooks={"prestart": [{"path": "/a"}], "createRuntime": [{"path": "/b"}]})
    scrun.drop_hooks(made, "createRuntime")
    assert made.to_json()["hooks"] == {"prestart": [{"path": "/a"}]}


def test_merge_environment() -> None:
    """New values replace old ones of the same name; values may contain anything."""
    made = config(process={"cwd": "/", "env": ["PATH=/bin", "A=old", "ODD", "A=older"]})
    scrun.merge_environment(
        made, {"A": "new", "B": "x=y\nz \udcff", "SLURM_JOB_ID": "1", "PATH": "/other"}, keep=["PATH"]
    )
    assert made.process is not None
    assert made.process.env == ["PATH=/bin", "ODD", "A=new", "B=x=y\nz \udcff", "SLURM_JOB_ID=1"]
    scrun.merge_environment(made, {"C": "1", "SLURM_X": "2"}, only=["SLURM_*"])
    assert made.process.env[-1] == "SLURM_X=2"
    assert "C=1" not in made.process.env


@pytest.mark.parametrize("name", ["only", "keep"])
def test_one_text_is_no_list_of_names(name: str) -> None:
    """A str instead of a list of patterns is refused with a hint, even if there is nothing to merge."""
    with pytest.raises(TypeError, match=rf"write {name}=\['SLURM_\*'\]"):
        scrun.merge_environment(oci.parse(b'{"ociVersion":"1"}', "f"), {}, **{name: "SLURM_*"})


def test_merge_environment_without_a_process() -> None:
    """A configuration without a process is not an error."""
    scrun.merge_environment(oci.parse(b'{"ociVersion":"1"}', "f"), {"A": "1"})


def test_staging_cleans_up(tmp_path: Path) -> None:
    """The folder is removed only if its block failed, and another folder of the same name never is."""
    place = str(tmp_path / "of alice" / "demo")

    def fail() -> None:
        with scrun.Staging(place) as made:
            os.mkdir(os.path.join(made, "x"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not os.path.exists(place)
    with scrun.Staging(place):
        pass
    assert os.stat(place).st_mode & 0o777 == 0o700
    with pytest.raises(StagingError, match="demo': File exists"), scrun.Staging(place):
        pass
    assert os.path.exists(place)


def test_staging_with_a_slash(tmp_path: Path) -> None:
    """A trailing slash changes nothing, and a block may remove the folder itself."""
    place = f"{tmp_path}/a/b/"

    def fail(remove: bool) -> None:
        with scrun.Staging(place) as made:
            assert made == place
            if remove:
                os.rmdir(made)
            raise KeyError

    for remove in (False, True):
        with pytest.raises(KeyError):
            fail(remove)
        assert os.listdir(tmp_path / "a") == []


def test_every_building_block_is_there() -> None:
    """Every name in ``__all__`` can be imported, and has a docstring."""
    for name in scrun.__all__:
        assert getattr(scrun, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        scrun.nothing  # noqa: B018
