# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies in the spool of power calls is shown, compared with what Slurm wants now, and discarded."""

import json

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from tests.unit.power.sites import HOOKS, Site

pytestmark = pytest.mark.slow

STATED = """#!/bin/sh
case "$1 $2" in
"show hostnames") echo "$3" | tr , '\\n' ;;
"show node") for node in c1 c2; do echo "NodeName=$node State=$(cat {folder}/state-$node) Reason=no State=x"; done ;;
esac
"""


def test_what_slurm_no_longer_wants(site: Site) -> None:
    """A call that reality has overtaken is shown as such, and is delivered again only on demand."""
    command = ["spool", "--sysconfdir", str(site.folder), "--power"]
    site.scontrol(STATED.format(folder=site.folder))
    (site.folder / "state-c1").write_text("DOWN+CLOUD+POWERED_DOWN")
    (site.folder / "state-c2").write_text("DOWN+CLOUD+POWERING_UP")
    for name in ("lost,c1", "lost,c2"):
        site.call("resume", name)
    site.wait(site.empty)
    (site.folder / "hooks.py").write_text(HOOKS.format(folder=site.folder, pause=0).replace('"lost"', '"absent"'))
    (site.folder / "state-lost").write_text("")
    shown = CliRunner().invoke(main, [*command, "--json"])
    by_nodes = {letter["nodes"]: letter for letter in json.loads(shown.stdout)["dead"]}
    assert "c1 is CLOUD+DOWN+POWERED_DOWN" in by_nodes["lost,c1"]["overtaken"]
    assert "c2 is" not in by_nodes["lost,c2"]["overtaken"]
    done = CliRunner().invoke(main, [*command, "redeliver"])
    assert done.exit_code == 1
    assert "Slurm no longer wants power.resume of lost,c1" in done.output
    assert f"'slurmhooks spool --power discard {by_nodes['lost,c1']['id']}'" in done.output
    assert not site.done()
    done = CliRunner().invoke(main, [*command, "redeliver", "--overtaken", by_nodes["lost,c1"]["id"]])
    assert "their delivery has begun" in done.output
    site.wait(lambda: site.done() and site.empty())  # nobody else starts it
    assert [line.split()[1] for line in site.done()] == ["lost,c1"]


def test_a_call_that_waits_can_be_discarded(site: Site) -> None:
    """What waits has a name, too, with which it is shown and discarded; texts speak of this spool."""
    command = ["spool", "--sysconfdir", str(site.folder), "--power"]
    path = site.folder / "slurmhooks.toml"
    path.write_text(path.read_text().replace("backoff = 0.05", "backoff = 600"))
    site.call("resume", "bug,c1")
    site.wait(lambda: "retry" in "".join(each.read_text() for each in site.spool.glob("*.state")))
    shown = CliRunner().invoke(main, command).output
    assert "bug,c1" in shown
    assert "'slurmhooks spool --power retry'" in shown
    (waiting,) = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)["records"]
    unknown = CliRunner().invoke(main, [*command, "discard", "1.2"])
    assert "'slurmhooks spool --power' shows them" in unknown.output
    assert CliRunner().invoke(main, [*command, "discard", waiting["id"]]).exit_code == 0
    assert not json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)["records"]
    assert not (site.spool / "dead").exists()
