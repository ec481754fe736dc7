# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks rollback`` goes back to what was in force before; the Prolog that carries a bundle to nodes."""

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.cli.deploying import HANDLER

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Site

pytestmark = pytest.mark.slow


def test_back_to_what_was_in_force_before(site: "Site") -> None:
    """A rollback puts in force what `deploy` calls "before", also if that was deployed earlier; the next goes on."""
    bundles = {name: site.make(name, HANDLER.format(number)) for number, name in enumerate("ABC")}
    ids = {name: site.report("deploy", bundles[name])["bundle"] for name in "CAB"}
    assert site.report("deploy", bundles["A"])["before"] == ids["B"]
    assert [site.report("rollback")["bundle"] for _ in "BAC"] == [ids["B"], ids["A"], ids["C"]]
    assert site.report("rollback", ids["B"])["before"] == ids["C"]
    assert site.report("rollback")["bundle"] == ids["C"]
    site.refused("rollback", "", says="there is no set ;")


def test_back_to_no_handlers(site: "Site") -> None:
    """A rollback does not put a bundle without handlers in force, unless it is named."""
    site.deploy()
    first = site.report("deploy", site.make("one", HANDLER.format(1)))
    site.refused("rollback", says=f"{first['before']} has no handlers: 'slurmhooks rollback {first['before']}'")
    assert site.handlers() == ["a:version_1"]
    site.report("rollback", first["before"])
    assert site.handlers() == []


def test_a_prolog_is_written_after_success(site: "Site", open_folder: Path) -> None:
    """A bundle that is refused leaves the Prolog as it was; a Prolog that would undo a command is named by it."""
    script = site.etc / "slurmhooks-prolog"
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "Prolog=slurmhooks-prolog")
    one = site.report("deploy", site.make("one", HANDLER.format(1)))["bundle"]
    bad = site.call("deploy", site.make("bad", "def ("), "--prolog", script)
    assert (bad.exit_code, script.exists()) == (1, False)
    good = site.call("deploy", site.make("two", HANDLER.format(2)), "--prolog", script, "--json")
    report = json.loads(good.stdout)
    assert f"deploys set {report['bundle']} on a node" in script.read_text()
    assert report["notes"] == []
    undone = f"{script} carries {report['bundle']}, which comes back with the next job"
    assert undone in "".join(site.report("rollback")["notes"])
    result = site.call("status")
    assert (result.exit_code, undone in result.output) == (1, True)
    assert one in result.output
    site.refused("deploy", open_folder / "one.tar", "--prolog", site.etc, says="Is a directory")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside slurm.conf", "in the home"])
def test_the_prolog_carries_a_bundle(site: "Site", machine: object, open_folder: Path, elsewhere: bool) -> None:
    """The script passes the bundle and its signature to `deploy`, unless the bundle is in force and nothing is left.

    The folder of slurm.conf may be read-only, so nothing is written there if slurmhooks.home names another one.
    """
    bundle, script = site.make("one", HANDLER.format(1)), open_folder / "prolog"
    result = site.call("deploy", bundle, "--prolog", script, "--json")
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
