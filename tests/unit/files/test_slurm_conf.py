# SPDX-License-Identifier: GPL-2.0-or-later
import sys
from pathlib import Path

import pytest

from slurmhooks.errors import ConfigError
from slurmhooks.files import slurm_conf


def test_as_slurm_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys ignore case, comments and continued lines are understood, Include is followed, the last value counts."""
    conf = tmp_path / "slurm.conf"
    (tmp_path / "local.conf").write_text("jobsubmitplugins=lua\nSlurmUser = slurm\n")
    conf.write_text(
        "#PluginDir=/commented\nSlurmctldPort=1 PluginDir=/first # /not\nSlurmUser=root\n"
        'plugindir="/second:\\\n/third"\nInclude local.conf\nMyPluginDir=/no\n'
    )
    monkeypatch.chdir(tmp_path)
    for path in (str(conf), "slurm.conf"):
        assert slurm_conf.value(path, "PluginDir") == "/second:/third"
        assert slurm_conf.value(path, "JobSubmitPlugins") == "lua"
        assert slurm_conf.value(path, "SlurmctldPort") == "1"
        assert slurm_conf.value(path, "slurmuser") == "slurm"
        assert slurm_conf.value(path, "PlugStackConfig") is None
    assert slurm_conf.value(str(tmp_path / "none"), "PluginDir") is None


@pytest.mark.parametrize("name", ["slurm.conf", "./slurm.conf"])
def test_a_file_that_includes_itself(tmp_path: Path, name: str) -> None:
    """A circle of files is an error, by whatever path a file includes itself."""
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"Include other.conf\nInclude {name}\n")
    (tmp_path / "other.conf").write_text(f"PluginDir=/x\nInclude {name}\n")
    with pytest.raises(ConfigError, match="includes itself"):
        slurm_conf.value(str(conf), "PluginDir")


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ("", 0),
        ("SlurmUser=daemon\n", 1),
        ("# SlurmUser=bin\nClusterName=x\nslurmuser = 64030 # 1\n", 64030),
        ("SlurmdUser=root\nSlurmUser=no_such_user\n", 0),
        ("include more.conf\n", 12),
        ("include gone.conf\nSlurmUser=13\n", 13),
    ],
)
def test_slurm_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conf: str, expected: int) -> None:
    """SlurmUser is the user named in slurm.conf; root if it is not set or unknown."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    (tmp_path / "slurm.conf").write_text(conf)
    (tmp_path / "more.conf").write_text("SlurmUser=12\n")
    assert slurm_conf.slurm_user() == expected


@pytest.mark.parametrize(
    ("files", "expected"), [("", "built"), ("received", "received"), ("built received", "built"), ("built", "built")]
)
def test_a_node_without_a_slurm_conf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: str, expected: str
) -> None:
    """What slurmd has received counts only where there is no slurm.conf, as in Slurm."""
    for name in ("built", "received"):
        (tmp_path / name).mkdir()
        if name in files:
            (tmp_path / name / "slurm.conf").touch()
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setitem(sys._xoptions, "slurmhooks_sysconfdir", str(tmp_path / "built"))
    monkeypatch.setattr(slurm_conf, "RECEIVED", str(tmp_path / "received"))
    assert slurm_conf.directory() == str(tmp_path / expected)


def test_nodes_of_two_clusters_on_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of one name have files of different names, and a machine of one cluster has the plain name."""
    monkeypatch.setitem(sys._xoptions, "slurmhooks_sysconfdir", "/etc/slurm")
    names = []
    for conf in ("/etc/slurm/slurm.conf", "/etc/slurmb/slurm.conf", "/etc/slurmc/slurm.conf"):
        monkeypatch.setenv("SLURM_CONF", conf)
        names.append(slurm_conf.name_here("n1"))
        assert slurm_conf.name_here("n1") == names[-1] != slurm_conf.name_here("n2")
    assert names[0] == "n1"
    assert len(set(names)) == len(names)
