# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks try power` runs power hooks here, and `slurmhooks check` finds the lines that they need."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call, Site
from tests.unit.workshop.cli.try_site import answer

HOOK = """
from slurmhooks import Reject, hook

@hook.power.resume
def start(nodes, jobs):
    if "big" in nodes["c2"].features:
        raise Reject(f"no room for {[job.job_id for job in jobs]}")
"""


def test_handlers_run_without_slurmctld(run: Call, tmp_path: Path) -> None:
    """The handler gets nodes and jobs of the command line; the exit code says whether it passed."""
    (tmp_path / "a.py").write_text(HOOK)
    arguments = ("try", "power", "resume", "c1", "c2", "--hooks", tmp_path / "a.py", "--really")
    result = run.passed(*arguments)
    assert "power.resume: a:start\npassed" in result.stdout
    result = run.refused(*arguments, "--feature", "big", "--job", "7", "--json")
    assert answer(result)["text"] == "no room for [7]"


def test_node_lists(run: Call, tmp_path: Path) -> None:
    """NODES are read as Slurm writes them for ResumeProgram; handlers get each name, and the list itself."""
    (tmp_path / "a.py").write_text(
        "from slurmhooks import Reject, hook\n@hook.power.suspend\ndef stop(nodes):\n"
        "    raise Reject(f'{list(nodes)} {nodes.hostlist}')\n"
    )
    arguments = ("try", "power", "suspend", "--hooks", tmp_path / "a.py", "--json")
    for words in (("c[1-2,4]",), ("c1,c2", "c4"), ("c1", "c2", "c4")):
        assert answer(run(*arguments, *words))["text"] == "['c1', 'c2', 'c4'] c[1-2,4]"
    wrong = run(*arguments, "c[1-")
    assert (wrong.exit_code, "not a node list" in wrong.output) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "needed"),
    [
        ((), ["needs the line ResumeProgram=", "SuspendTime="]),
        (("ResumeProgram={resume}", "SuspendTime=600"), []),
        (("ResumeProgram={resume}", "PartitionName=cloud SuspendTime=60 Nodes=c1"), []),
        (("ResumeProgram=/etc/slurm/resume.sh", "SuspendTime=600"), ["instead of /etc/slurm/resume.sh"]),
        (
            ("ResumeProgram={resume}", "SuspendProgram={suspend}", "SuspendTime=600"),
            ["hook.power.suspend is loaded"],
        ),
        (("ResumeProgram={resume}", "SuspendProgram=/etc/slurm/own", "SuspendTime=600"), []),
        (("ResumeProgram=on", 'PowerAction=on Location=slurmctld Program="{resume}"', "SuspendTime=600"), []),
        (
            ("ResumeProgram=on", "PowerAction=on Location=slurmctld Program=/own", "SuspendTime=600"),
            ["instead of /own"],
        ),
    ],
)
def test_lines_that_slurm_conf_lacks(site: Site, keys: tuple[str, ...], needed: list[str]) -> None:
    """Each line that handlers need, and each line that needs handlers, is a finding."""
    programs = {kind: site.plugins / f"slurmhooks/slurmhooks_power_{kind}" for kind in ("resume", "suspend")}
    for program in programs.values():
        program.touch()
    site.file(HOOK)
    site.conf(f"PluginDir={site.plugins}", *(key.format(**programs) for key in keys))
    found = site.found()
    assert len(found) == len(needed), found
    assert all(word in line for word, line in zip(needed, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "runs_there"),
    [
        (["RebootProgram={}"], False),
        (["RebootProgram={}", "SlurmctldParameters=power_save_interval=1"], False),
        (["RebootProgram={}", "SlurmctldParameters=power_save_interval=1,reboot_from_controller"], True),
        (["RebootProgram=boot", "PowerAction=boot Location=slurmctld Program={}"], True),
        (["RebootProgram=boot", "PowerAction=boot Location=slurmd Program={}"], False),
    ],
)
def test_a_reboot_runs_on_the_controller(site: Site, lines: list[str], runs_there: bool) -> None:
    """hook.power.reboot needs a slurmctld that runs RebootProgram, and no SuspendTime."""
    program = site.plugins / "slurmhooks/slurmhooks_power_reboot"
    program.touch()
    site.file("from slurmhooks import hook\n@hook.power.reboot\ndef boot(nodes, features): pass\n")
    site.conf(f"PluginDir={site.plugins}", *(line.format(program) for line in lines))
    found = site.found()
    assert len(found) == (not runs_there), found
    assert all("it needs the line SlurmctldParameters=reboot_from_controller" in line for line in found)


def test_a_program_that_is_not_installed(site: Site) -> None:
    """An older installation lacks the program."""
    program = site.plugins / "slurmhooks/slurmhooks_power_resume"
    site.file(HOOK)
    site.conf(f"PluginDir={site.plugins}", f"ResumeProgram={program}", "SuspendTime=600")
    (finding,) = site.found()
    assert finding.startswith(f"{program}: missing, so slurmctld never calls handler a:start")


def test_the_lines_of_mail_and_reservations(site: Site) -> None:
    """MailProg and ResvEpilog name our programs if there are handlers, and no program is without them."""
    programs = [
        site.plugins / f"slurmhooks/slurmhooks_{name}" for name in ("mail", "reservation_start", "reservation_end")
    ]
    for program in programs:
        program.touch()
    site.file(
        "from slurmhooks import hook\n@hook.mail\ndef mail(mail): pass\n"
        "@hook.reservation.end\ndef end(reservation): pass\n"
    )
    site.conf(f"PluginDir={site.plugins}", "MailProg=/usr/bin/mail", f"ResvProlog={programs[1]}")
    found = site.found()
    assert len(found) == 3, found
    assert f"it needs the line MailProg={programs[0]} instead of /usr/bin/mail" in found[0]
    assert "no handler of hook.reservation.start is loaded" in found[1]
    assert f"it needs the line ResvEpilog={programs[2]}" in found[2]
