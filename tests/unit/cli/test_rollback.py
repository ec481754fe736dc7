# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks rollback`` goes back to what was in force before; the Prolog that carries a bundle to nodes."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.cli.deploying import HANDLER, deploy, handlers, make, rollback

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Site

pytestmark = pytest.mark.slow

__all__ = ["deploy", "make"]


def test_back_to_what_was_in_force_before(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]
) -> None:
    """A rollback puts in force what `deploy` calls "before", also if that was deployed earlier; the next goes on."""
    bundles = {name: make(name, HANDLER.format(number)) for number, name in enumerate("ABC")}
    ids = {name: deploy(bundles[name])["bundle"] for name in "CAB"}
    assert deploy(bundles["A"])["before"] == ids["B"]
    assert [rollback(site, run)["bundle"] for _ in "BAC"] == [ids["B"], ids["A"], ids["C"]]
    assert rollback(site, run, ids["B"])["before"] == ids["C"]
    assert rollback(site, run)["bundle"] == ids["C"]
    result = run("rollback", "", "--sysconfdir", site.etc)
    assert (result.exit_code, "there is no set ;" in result.output) == (1, True)


def test_back_to_no_handlers(site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]) -> None:
    """A rollback does not put a bundle without handlers in force, unless it is named."""
    site.deploy()
    first = deploy(make("one", HANDLER.format(1)))
    result = run("rollback", "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert f"{first['before']} has no handlers: 'slurmhooks rollback {first['before']}'" in result.output
    assert handlers(site) == ["a:version_1"]
    rollback(site, run, first["before"])
    assert handlers(site) == []


def test_a_prolog_is_written_after_success(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any], open_folder: Path
) -> None:
    """A bundle that is refused leaves the Prolog as it was; a Prolog that would undo a command is named by it."""
    script = site.etc / "slurmhooks-prolog"
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "Prolog=slurmhooks-prolog")
    one = deploy(make("one", HANDLER.format(1)))["bundle"]
    bad = run("deploy", make("bad", "def ("), "--sysconfdir", site.etc, "--prolog", script)
    assert (bad.exit_code, script.exists()) == (1, False)
    good = run("deploy", make("two", HANDLER.format(2)), "--sysconfdir", site.etc, "--prolog", script, "--json")
    report = json.loads(good.stdout)
    assert f"deploys set {report['bundle']} on a node" in script.read_text()
    assert report["notes"] == []
    undone = f"{script} carries {report['bundle']}, which comes back with the next job"
    assert undone in "".join(rollback(site, run)["notes"])
    result = run("status", "--sysconfdir", site.etc)
    assert (result.exit_code, undone in result.output) == (1, True)
    assert one in result.output
    result = run("deploy", open_folder / "one.tar", "--sysconfdir", site.etc, "--prolog", site.etc)
    assert (result.exit_code, "Is a directory" in result.output) == (1, True)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside slurm.conf", "in the home"])
def test_the_prolog_carries_a_bundle(
    make: Callable[..., Path], site: "Site", run: "Call", machine: object, open_folder: Path, elsewhere: bool
) -> None:
    """The script passes the bundle and its signature to `deploy`, unless the bundle is in force and nothing is left.

    The folder of slurm.conf may be read-only, so nothing is written there if slurmhooks.home names another one.
    """
    bundle, script = make("one", HANDLER.format(1)), open_folder / "prolog"
    result = run("deploy", bundle, "--sysconfdir", site.etc, "--prolog", script, "--json")
    identity = json.loads(result.stdout)["bundle"]
    etc = open_folder / "conf"
    etc.mkdir()
    conf = open_folder / "home" if elsewhere else etc
    conf.mkdir(exist_ok=True)
    if elsewhere:
        (etc / "slurmhooks.home").write_text(f"{conf}\n")
        etc.chmod(0o555)
    machine.program("slurmhooks", f'cp "$4" {open_folder}/got; echo "$@" >{open_folder}/called')  # type: ignore[attr-defined]
    environment = {"PATH": os.environ["PATH"], "SLURM_CONF": str(etc / "slurm.conf")}
    subprocess.run([script], env=environment, check=True)
    assert (open_folder / "got").read_bytes() == bundle.read_bytes()
    assert (open_folder / "called").read_text().startswith(f"deploy --sysconfdir {etc} {conf}/.slurmhooks-deploy.")
    assert list(conf.iterdir()) == []

    def deploys() -> bool:
        (open_folder / "called").unlink(missing_ok=True)
        subprocess.run([script], env=environment, check=True)
        return (open_folder / "called").exists()

    place = conf / "slurmhooks.d" / "sets" / identity
    place.mkdir(parents=True)
    (place / "slurmhooks.toml").write_text("")
    assert deploys()
    (conf / "slurmhooks.set").symlink_to(f"slurmhooks.d/sets/{identity}")
    assert not deploys()
    (conf / "slurmhooks.d" / "begun").write_text("")
    assert deploys()
    (conf / "slurmhooks.d" / "begun").unlink()
    (place / "slurmhooks.toml").unlink()
    assert deploys()
    machine.program("slurmhooks", "exit 1")  # type: ignore[attr-defined]
    (conf / "slurmhooks.set").unlink()
    assert subprocess.run([script], env=environment, check=False).returncode == 1
