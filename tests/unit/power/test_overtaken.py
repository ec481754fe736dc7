# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies in the spool of power calls is shown, compared with what Slurm wants now, and discarded."""

import json

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from tests.sets import put_in_force
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


@pytest.mark.parametrize(
    ("state", "down"), [("IDLE+CLOUD", "c2"), ("DOWN+CLOUD+POWERED_DOWN", "c2"), ("IDLE+CLOUD+POWERING_UP", "c1,c2")]
)
def test_a_call_that_is_given_up_leaves_nodes_alone_for_which_slurm_does_not_wait(
    site: Site, state: str, down: str
) -> None:
    """A node that has started runs jobs; one that was given up is to be started again."""
    asked = site.folder / "asked"
    site.scontrol(STATED.format(folder=site.folder).replace("case", f'echo "$@" >> {asked}\ncase', 1))
    (site.folder / "state-c1").write_text(state)
    (site.folder / "state-c2").write_text("MIXED+CLOUD+POWERING_UP")
    (site.folder / "hooks.py").write_text(HOOKS.format(folder=site.folder, pause=0).replace('"lost"', '"c1"'))
    put_in_force(site.folder)
    site.call("resume", "c1,c2")
    site.wait(site.empty)
    updates = [line for line in asked.read_text().splitlines() if line.startswith("update")]
    assert updates == [f"update NodeName={down} State=DOWN Reason=no capacity in this region"]
    assert len(list((site.spool / "dead").glob("*.spool"))) == 1


@pytest.mark.parametrize(
    ("states", "is_started"),
    [
        (("DOWN+CLOUD+POWERED_DOWN", "IDLE+CLOUD+POWERING_DOWN"), False),
        (("DOWN+CLOUD+POWERED_DOWN", "MIXED+CLOUD+POWERING_UP"), True),
        (("IDLE+CLOUD", "IDLE+CLOUD"), True),
    ],
)
def test_a_call_that_comes_too_late_starts_nothing(site: Site, states: tuple[str, str], is_started: bool) -> None:
    """A call that failed is not repeated once all its nodes are off: nobody would stop these machines."""
    site.scontrol(STATED.format(folder=site.folder))
    for name in ("c1", "c2"):
        (site.folder / f"state-{name}").write_text("MIXED+CLOUD+POWERING_UP")
    with (site.folder / "slurmhooks.toml").open("a") as config:
        config.write("backoff_limit = 0.05\n")
    (site.folder / "hooks.py").write_text(HOOKS.format(folder=site.folder, pause=0).replace('"bug"', '"c1"'))
    put_in_force(site.folder)
    site.call("resume", "c1,c2")
    site.wait(site.notes)
    for name, state in zip(("c1", "c2"), states, strict=True):
        (site.folder / f"state-{name}").write_text(state)
    (site.folder / "hooks.py").write_text(HOOKS.format(folder=site.folder, pause=0))
    site.wait(site.empty)
    assert bool(site.done()) == is_started
    assert is_started or len(list((site.spool / "dead").glob("*.spool"))) == 1
