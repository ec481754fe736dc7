# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

import pytest

from slurmhooks.cli import configuration, slurm
from slurmhooks.errors import ConfigError

from .conftest import Machine

PLUGINS = Path("/opt/plugins")


def lines(machine: Machine) -> dict[str, bool]:
    """Give each required line, and whether it is present."""
    return {setting.line: setting.present for setting in configuration.settings(machine.etc, PLUGINS)}


def test_bare_site_needs_everything(machine: Machine) -> None:
    """Without any configuration every line is missing, and the proposed PluginDir keeps Slurm's own plugins."""
    assert lines(machine) == {
        f"PluginDir={configuration.UNKNOWN}:/opt/plugins": False,
        "JobSubmitPlugins=python": False,
        "CliFilterPlugins=python": False,
        "required spank_python.so": False,
        '[hooks]\npaths = ["hooks.d/*.py"]': False,
    }


def test_complete_site_needs_nothing(machine: Machine) -> None:
    """Existing lines are recognized, in any form in which a person may have written them."""
    (machine.etc / "slurm.conf").write_text(
        "PluginDir=/usr/lib/slurm:/opt/plugins\nJobSubmitPlugins=lua,job_submit/python\nPlugStackConfig=stack.conf\n"
        "CliFilterPlugins=cli_filter/python,lua\n"
    )
    (machine.etc / "stack.conf").write_text("include stack.d/*.conf\n")
    (machine.etc / "stack.d").mkdir()
    (machine.etc / "stack.d" / "python.conf").write_text("# first\noptional  /opt/plugins/spank_python.so x=1\n")
    (machine.etc / "slurmhooks.toml").write_text("")
    assert all(lines(machine).values())
    assert "optional  /opt/plugins/spank_python.so x=1" in lines(machine)


def test_other_values_are_kept(machine: Machine) -> None:
    """The proposed line keeps the values that the site has."""
    (machine.etc / "slurm.conf").write_text("PluginDir=/usr/lib/slurm\nJobSubmitPlugins=lua, defaults\n")
    assert lines(machine)["PluginDir=/usr/lib/slurm:/opt/plugins"] is False
    assert "JobSubmitPlugins=lua,python" in lines(machine)


@pytest.mark.parametrize("name", ["slurmhooks", "job_submit/slurmhooks", "job_submit_python"])
def test_a_mistaken_name_is_replaced(machine: Machine, name: str) -> None:
    """The proposed line has no name that somebody took for the plugin's: slurmctld would not start with it."""
    (machine.etc / "slurm.conf").write_text(f"JobSubmitPlugins=lua,{name}\n")
    assert "JobSubmitPlugins=lua,python" in lines(machine)


@pytest.mark.parametrize(
    "line", ["#required spank_python.so", "required spank_python_other.so", "required x.so spank_python.so"]
)
def test_similar_lines_do_not_count(machine: Machine, line: str) -> None:
    """A comment, another plugin or an argument does not count as our plugin."""
    (machine.etc / "plugstack.conf").write_text(f"{line}\n")
    assert lines(machine)["required spank_python.so"] is False


def test_default_folder_needs_no_plugin_dir(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder where Slurm's own plugins are, no PluginDir line is needed."""
    monkeypatch.setattr(slurm, "usual_plugin_dirs", lambda root: [PLUGINS])
    assert not any(line.startswith("PluginDir") for line in lines(machine))
    monkeypatch.setattr(slurm, "usual_plugin_dirs", lambda root: [Path("/usr/lib/slurm")])
    assert lines(machine)["PluginDir=/usr/lib/slurm:/opt/plugins"] is False


def test_plugin_dir_is_the_first_that_exists(machine: Machine) -> None:
    """Of the folders in slurm.conf, the first existing one is used; if none exists, none is used."""
    (machine.etc / "slurm.conf").write_text(f"PluginDir=/no/such:{machine.bin}:{machine.etc}\n")
    assert configuration.find_plugin_dir(machine.etc) == machine.bin
    (machine.etc / "slurm.conf").write_text("PluginDir=/no/such\n")
    assert configuration.find_plugin_dir(machine.etc) is None


def test_a_plugstack_conf_that_includes_itself(machine: Machine) -> None:
    """A circle of files is a finding."""
    (machine.etc / "plugstack.conf").write_text("include plugstack.c*\n")
    with pytest.raises(ConfigError, match="includes itself"):
        configuration.spank_lines(machine.etc)


def test_below_a_root() -> None:
    """While a package is being built, absolute paths are interpreted inside its folder."""
    assert configuration.below(Path("/tmp/root"), Path("/etc/slurm")) == Path("/tmp/root/etc/slurm")
    assert configuration.below(Path("/"), Path("/etc/slurm")) == Path("/etc/slurm")


def test_folders_that_others_may_change(tmp_path: Path) -> None:
    """A folder that everybody may write to is reported, and so are folders below it, but not a missing folder."""
    open_folder = tmp_path / "open"
    (open_folder / "lib").mkdir(parents=True)
    open_folder.chmod(0o777)
    folders = ["/usr", str(open_folder), str(open_folder / "lib"), "/no/such"]
    first, second = configuration.writable_by_others(folders)
    assert first.startswith(f"{open_folder}: it is writable by everybody")
    assert second.startswith(f"{open_folder}/lib: {open_folder} is writable by everybody")
    assert first.endswith(f": chmod o-w {open_folder}")
