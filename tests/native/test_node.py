# SPDX-License-Identifier: GPL-2.0-or-later
"""The program for HealthCheckProgram, without Slurm."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from slurmhooks import identity
from slurmhooks.handlers.registry import Registry
from slurmhooks.site import manifest_writer
from tests.native.hosting import Host
from tests.native.manifests import deployed
from tests.sets import put_in_force


def write_manifest(host: Host, records: Sequence[Sequence[str]]) -> None:
    """Write a manifest with records for health checks."""
    host.folder.joinpath("slurm.conf").touch()
    point = manifest_writer.Point("node", (), ("debug3", "4096"), registry=Registry((), ()), records=records)
    deployed(host.folder).write_bytes(manifest_writer.render([], host.build.slurm, identity.here(), [point]))


def run(host: Host, *, name: str | None = "n1", cwd: Path | None = None) -> tuple[int, str, bool]:
    """Run the program as slurmd does; return its exit code, its output, and whether it has loaded libpython."""
    program = host.build.plugins / "slurmhooks" / "slurmhooks_health"
    put_in_force(host.folder)
    env = {"SLURM_CONF": str(host.folder / "slurm.conf"), "LD_DEBUG": "files"}
    command = [str(program) if cwd is None else f"./{program.name}"]
    env |= {} if name is None else {"SLURMD_NODENAME": name}
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    lines = done.stderr.split("\n")
    said = "\n".join(line for line in lines if line and not line.lstrip()[0].isdigit())
    return done.returncode, said, any("libpython" in line for line in lines)


def test_a_site_without_health_checks_pays_nothing(host: Host) -> None:
    """If the manifest has no check, Python is not even loaded."""
    write_manifest(host, ())
    assert run(host) == (0, "", False)


@pytest.mark.parametrize("with_manifest", [True, False])
def test_it_must_know_its_node(host: Host, with_manifest: bool) -> None:
    """Without the variable of slurmd it changes nothing and says what to do; also if it is started by a short path."""
    if with_manifest:
        write_manifest(host, [["call", "health_check", "63"]])
    code, said, _ = run(host, name=None, cwd=host.build.plugins / "slurmhooks")
    assert code == 1
    assert "SLURMD_NODENAME is not set" in said
    assert "slurmhooks try health" in said


def test_the_embedded_interpreter_knows_the_arguments_of_ready_made_checks(host: Host) -> None:
    """Their names come from annotations, which the modules in the core library mostly lack (native/frozen.py)."""
    host.folder.joinpath("slurm.conf").touch()
    host.config('[[node.checks]]\ncheck = "mount"\npath = "/scratch"\nfree = "5%"\n')
    code, said, _ = run(host)
    assert code == 1
    assert "free: unknown key; mount has path, type, options" in said


SLURMD = """#!/bin/sh
env -i SLURMD_NODENAME=n1 {program}
exit $?
"""


@pytest.mark.parametrize("words", [("-f", "{conf}"), ("-N", "n1", "-f{conf}"), ()])
def test_it_uses_the_slurm_conf_of_its_slurmd(host: Host, tmp_path: Path, words: tuple[str, ...]) -> None:
    """slurmd passes on only the name of the node, whether an option or SLURM_CONF has named its slurm.conf."""
    conf = host.folder / "slurm.conf"
    conf.touch()
    host.config('[[node.checks]]\ncheck = "mount"\npath = "/scratch"\nfree = "5%"\n')
    put_in_force(host.folder)
    slurmd = tmp_path / "slurmd"
    slurmd.write_text(SLURMD.format(program=host.build.plugins / "slurmhooks" / "slurmhooks_health"))
    slurmd.chmod(0o755)
    command = [str(slurmd), *(word.format(conf=conf) for word in words)]
    env = {"SLURM_CONF": "/nowhere/slurm.conf" if words else str(conf)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert "free: unknown key" in done.stderr
    assert done.returncode == 1


def test_a_machine_without_a_set_says_so(host: Host) -> None:
    """Somebody wants health checks, and none runs."""
    (host.folder / "slurm.conf").touch()
    program = host.build.plugins / "slurmhooks" / "slurmhooks_health"
    env = {"SLURM_CONF": str(host.folder / "slurm.conf"), "SLURMD_NODENAME": "n1"}
    done = subprocess.run([str(program)], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "nothing was deployed, so no health check runs" in done.stderr) == (1, True), done.stderr
