# SPDX-License-Identifier: GPL-2.0-or-later
"""All commands find the configuration as the daemons do."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.core import ParameterSource

from slurmhooks.cli import main, parameters
from tests.sets import put_in_force
from tests.unit.cli.conftest import Call, Site

BUILD = "build"
"""Its option says what the plugins use where SLURM_CONF is not set."""


def commands(group: click.Group, names: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield all commands below a group, each with its name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*names, name))
        else:
            yield " ".join([*names, name]), command


READERS = {
    name: option
    for name, command in commands(main)
    for option in command.params
    if option.name == "sysconfdir" and name != BUILD
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("conf", "folder"), [("/x/y/slurm.conf", "/x/y"), ("/x/other.conf", "/x"), (None, "/etc/slurm")]
)
def test_the_default_is_the_folder_of_slurm_conf(
    name: str, conf: str | None, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command that reads the configuration uses the folder of SLURM_CONF."""
    monkeypatch.delenv("SLURM_CONF", raising=False)
    if conf is not None:
        monkeypatch.setenv("SLURM_CONF", conf)
    option = READERS[name]
    context = click.Context(click.Command("x"))
    value, _ = option.consume_value(context, {})
    assert option.process_value(context, value) == Path(folder)
    assert "$SLURM_CONF" in str(getattr(option, "show_default", ""))


def test_many_commands_read_the_configuration() -> None:
    """The commands above are not only a few."""
    wanted = {"check", "info", "why", "status", "deploy", "rollback", "install", "uninstall", "record"}
    assert wanted | {"try job_submit", "try spank", "try cli_filter", "try record"} <= READERS.keys()


@pytest.mark.parametrize(
    ("given", "folder", "used"),
    [
        (None, "/a", "/a/slurm.conf"),
        ("/a/slurm.conf", "/a", "/a/slurm.conf"),
        ("/a/test.conf", "/a", "/a/test.conf"),
        ("/a/test.conf", "/b", "/b/slurm.conf"),
        ("test.conf", "HERE", "HERE/test.conf"),
    ],
)
def test_the_file_of_a_folder(
    given: str | None, folder: str, used: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file with another name counts if it is in the folder that is used; --sysconfdir overrides SLURM_CONF."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    if given is not None:
        monkeypatch.setenv("SLURM_CONF", given)
    parameters.use(Path(folder.replace("HERE", str(tmp_path))))
    assert os.environ["SLURM_CONF"] == used.replace("HERE", str(tmp_path))


def test_what_commands_do_with_it(site: Site, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hook files, PluginDir and plugstack.conf are those of the configuration that SLURM_CONF names."""
    hook_file = site.hooks / "named.py"
    hook_file.write_text("from slurmhooks import hook\n\n@hook.job_submit\ndef by_variable(job): pass\n")
    conf = site.etc / "slurm.conf"
    conf.rename(site.etc / "second.conf")
    monkeypatch.setenv("SLURM_CONF", str(site.etc / "second.conf"))
    put_in_force(site.etc)
    assert "named:by_variable" in run("check").output
    shown = run("info").output
    assert (str(site.plugins) in shown, f"{site.etc}/second.conf" in shown or str(site.etc) in shown) == (True, True)
    script = site.etc / "job.sh"
    script.write_text("#!/bin/sh\n")
    assert run("try", "job_submit", script).output.startswith("accepted\nno field changed\n")
    assert "by_variable" not in run("check", "--sysconfdir", site.etc.parent).output


OLD_CLICK = """
import click
click.ParamType = type("ParamType", (click.ParamType,), {"__class_getitem__": None})
from slurmhooks.cli import main
context = click.Context(main)
assert all([main.get_command(context, name) for name in main.list_commands(context)])
"""


def test_click_of_debian() -> None:
    """All commands load with a click whose ParamType takes no type, such as that of Debian 13."""
    done = subprocess.run([sys.executable, "-c", OLD_CLICK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in READERS if name != "install"])
def test_a_folder_that_does_not_exist_is_wrong_use(name: str, tmp_path: Path) -> None:
    """A misspelt --sysconfdir is refused by name; `install` may come before the files of Slurm."""
    option = READERS[name]
    context = click.Context(click.Command("x"))
    context.set_parameter_source("sysconfdir", ParameterSource.COMMANDLINE)
    assert option.process_value(context, tmp_path) == tmp_path
    for wrong in (tmp_path / "missing", Path(__file__)):
        with pytest.raises(click.BadParameter, match=f"{wrong} is not a folder"):
            option.process_value(context, wrong)
