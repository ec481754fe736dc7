# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks try health` runs the health checks here, and `slurmhooks check` finds the lines that they need."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call, Site
from tests.unit.workshop.cli.try_site import answer

HOOK = """
from slurmhooks import Reject, hook

@hook.node.health_check(fails=3, contexts="start")
def scratch(node):
    raise Reject(f"no scratch on {node.name}")
"""


def configured(folder: Path, more: str = "") -> Path:
    """Write a configuration with two ready-made checks."""
    (folder / "scratch.py").write_text(HOOK)
    (folder / "slurmhooks.toml").write_text(
        f'[hooks]\npaths = ["*.py"]\n{more}[[node.checks]]\ncheck = "space"\npath = "/"\nfree = "0%"\n'
        f'[[node.checks]]\ncheck = "file"\npath = "{folder}/absent"\nmode = "warn"\n'
    )
    return folder


def test_all_checks_run(run: Call, tmp_path: Path) -> None:
    """Each check has a row; the reason is that of the checks that are enforced."""
    result = run.refused("try", "health", "--sysconfdir", configured(tmp_path), "--node", "n5", "--json")
    found = answer(result)
    assert [(row["check"], row["mode"], row["result"]) for row in found["checks"]] == [
        ("space /", "enforce", "passed"),
        (f"file {tmp_path}/absent", "warn", "refused"),
        ("scratch:scratch", "enforce", "refused"),
    ]
    assert found["reason"] == "no scratch on n5"


def test_checks_of_other_nodes_do_not_run(run: Call, tmp_path: Path) -> None:
    """A check that names nodes has a row only for these."""
    folder = configured(tmp_path)
    (folder / "scratch.py").write_text(HOOK.replace("fails=3", 'nodes="gpu*"'))
    path = folder / "slurmhooks.toml"
    path.write_text(path.read_text().replace('free = "0%"', 'free = "0%"\nnodes = "n[1-4]"'))
    for node, rows in (("n5", 1), ("n4", 2), ("gpu7", 2)):
        result = run("try", "health", "--sysconfdir", folder, "--node", node, "--json")
        assert len(answer(result)["checks"]) == rows


def test_one_context(run: Call, tmp_path: Path) -> None:
    """Checks for other contexts do not run; people read the same as programs."""
    arguments = ("--sysconfdir", configured(tmp_path), "--node", "n5")
    result = run.passed("try", "health", *arguments, "--context", "cycle")
    assert "n5 would not be drained" in result.stdout
    assert "scratch:scratch" not in result.stdout
    result = run("try", "health", *arguments)
    assert "n5 would be drained, at the latest after 3 such runs: no scratch on n5" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "needed"),
    [
        ((), ["HealthCheckProgram=", "HealthCheckInterval="]),
        (("HealthCheckProgram={program}",), ["HealthCheckInterval="]),
        (("HealthCheckProgram=/usr/sbin/nhc", "HealthCheckInterval=300"), ["HealthCheckProgram="]),
        (("HealthCheckProgram={program}", "HealthCheckInterval=0"), ["HealthCheckInterval="]),
        (("HealthCheckProgram={program}", "HealthCheckNodeState=START_ONLY"), []),
        (("HealthCheckProgram={program}", "HealthCheckInterval=300"), []),
        (("HealthCheckProgram={program}", "HealthCheckInterval=300", "HealthCheckTimeout=30"), ["timeout"]),
    ],
)
def test_lines_that_slurm_conf_lacks(site: Site, keys: tuple[str, ...], needed: list[str]) -> None:
    """Each line that is missing or wrong is a finding, also a time limit that slurmd does not grant."""
    program = site.plugins / "slurmhooks" / "slurmhooks_health"
    program.touch()
    site.file(HOOK)
    site.conf(f"PluginDir={site.plugins}", *(key.format(program=program) for key in keys))
    found = site.found()
    assert len(found) == len(needed), found
    assert all(word in line for word, line in zip(needed, found, strict=True))


def test_a_program_that_is_not_installed(site: Site) -> None:
    """An older installation lacks the program."""
    program = site.plugins / "slurmhooks" / "slurmhooks_health"
    site.file(HOOK)
    site.conf(f"PluginDir={site.plugins}", f"HealthCheckProgram={program}", "HealthCheckInterval=300")
    (finding,) = site.found()
    assert finding.startswith(f"{program}: missing, so slurmd never runs health check a:scratch")
