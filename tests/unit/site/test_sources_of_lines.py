# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook files a line of plugstack.conf names, and which arguments are for handlers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import plugstack
from slurmhooks.log import log
from slurmhooks.site import loading
from tests.unit.site.conftest import Write, of_config, of_line

pytestmark = pytest.mark.usefixtures("place_slurm_conf")


def test_a_line_without_arguments_loads_what_the_configuration_says(write: Write) -> None:
    """``required spank_python.so`` is enough."""
    write("slurmhooks.toml", '[hooks]\npaths = ["a.py"]\n')
    assert of_line("") == (["a.py"], [])
    assert of_line("failonerror") == (["a.py"], [])
    assert of_line("failonerror -- fast=1") == (["a.py"], ["fast=1"])


def test_a_line_with_a_glob_keeps_its_own_arguments(write: Write) -> None:
    """A line with a glob has its own files and arguments, and does not read the configuration."""
    write("slurmhooks.toml", "not toml")
    write("lustre.d/b.py", "")
    write("lustre.d/a.py", "")
    assert of_line("lustre.d/*.py /scratch quota=5") == (["a.py", "b.py"], ["/scratch", "quota=5"])
    assert of_line("failonerror lustre.d/a.py config=x") == (["a.py"], ["config=x"])


def test_a_line_may_name_a_configuration(write: Write) -> None:
    """config=FILE is relative to slurm.conf, or absolute."""
    path = write("other.toml", '[hooks]\npaths = ["o.py"]\n')
    assert of_line("config=other.toml failonerror") == (["o.py"], [])
    assert of_line(f"config={path}") == (["o.py"], [])


def test_a_wrong_configuration_is_a_load_error(write: Write) -> None:
    """An invalid configuration raises LoadError with all findings."""
    write("slurmhooks.toml", "[nope]\n[neither]\n")
    with pytest.raises(LoadError) as caught:
        of_line("")
    assert len(caught.value.findings) == 2
    with pytest.raises(ConfigError):
        of_config()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", (None, None, [])),
        ("config=x", ("x", None, [])),
        ("config=x failonerror", ("x", None, [])),
        ("failonerror config=x *.py", ("x", "*.py", [])),
        ("init_failure_mode=job failonerror a.py", (None, "a.py", [])),
        ("a.py init_failure_mode=rest", (None, "a.py", ["init_failure_mode=rest"])),
        ("-- fast=1 --", (None, None, ["fast=1", "--"])),
        ("config=x failonerror -- fast=1", ("x", None, ["fast=1"])),
        ("a.py -- x", (None, "a.py", ["--", "x"])),
        ("a.py failonerror config=x", (None, "a.py", ["failonerror", "config=x"])),
    ],
)
def test_a_line_taken_apart(line: str, expected: tuple[str | None, str | None, list[str]]) -> None:
    """Arguments for slurmhooks come first; all arguments after the GLOB are for handlers."""
    assert plugstack.split(line.split()) == expected


def test_wrong_values(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """A line with an invalid value loads all the same; the log lists the valid values, not for handlers' arguments."""
    path = write("a.py", "")
    attached = log.attach(None, None)
    named, rest = of_line(f"init_failure_mode=jobs missing_options= {path} missing_options=x")
    log.attach(*attached)
    assert (len(named), rest) == (1, ["missing_options=x"])
    assert capsys.readouterr().err.splitlines() == [
        "slurmhooks: error: plugstack.conf: init_failure_mode=jobs: it can be init_failure_mode=node or"
        " init_failure_mode=job",
        "slurmhooks: error: plugstack.conf: missing_options=: it can be missing_options=log or missing_options=refuse",
    ]


def test_a_line_that_the_set_lacks(said: SimpleNamespace) -> None:
    """It has no hooks, which the log says: an edit of plugstack.conf must not fail launches."""
    for line in ("gone.d/*.py x", "gone.py x", "config=gone.toml -- x"):
        said.lines.clear()
        assert of_line(line) == ([], ["x"])
        assert "the set in force does not have it: deploy one that has it, so this line has no hooks" in str(said.lines)


def test_a_line_of_sources(write: Write, tmp_path: Path) -> None:
    """Before a deployment, lines can be read as they will be: what they name must exist then."""
    (tmp_path / "slurmhooks.set").unlink()
    path = write("a.py", "")
    assert [each.path for each in loading.of_line(["a.py"], source=True).sources] == [str(path)]
    with pytest.raises(LoadError, match=r"config=gone\.toml: does not exist beside slurm\.conf"):
        loading.of_line(["config=gone.toml"], source=True)
