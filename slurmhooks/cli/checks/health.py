# SPDX-License-Identifier: GPL-2.0-or-later
"""Find health checks that slurmd never runs, and those that it would kill."""

from pathlib import Path

from slurmhooks.cli import build_record, configuration, whole_site
from slurmhooks.files import slurm_conf

ONLY = ("START_ONLY", "REBOOT_ONLY")
"""Values of HealthCheckNodeState that need no interval."""
KILLED = 60
"""Seconds after which slurmd kills the program, unless HealthCheckTimeout says otherwise."""


def problems(loaded: whole_site.Loaded, sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return findings about the lines that slurm.conf needs for the health checks of a site."""
    checks = [*loaded.health, *loaded.registry.handlers("node.health_check")]
    if not checks:
        return []
    conf = configuration.file_in(sysconfdir)
    what = f"slurmd never runs health check {checks[0].label}"
    findings = []
    if folder is not None:
        program = folder / build_record.HEALTH_PROGRAM
        if not program.exists():
            findings.append(f"{program}: missing, so {what}: run 'slurmhooks install' again")
        named = slurm_conf.value(str(conf), "HealthCheckProgram")
        if not build_record.is_program(named, program):
            instead = f" instead of {named}" if named else ""
            findings.append(f"{conf}: {what}: it needs the line HealthCheckProgram={program}{instead}")
    states = (slurm_conf.value(str(conf), "HealthCheckNodeState") or "").upper().split(",")
    interval = slurm_conf.value(str(conf), "HealthCheckInterval") or "0"
    if interval == "0" and not set(ONLY).intersection(states):
        findings.append(f"{conf}: {what}: it needs a line such as HealthCheckInterval=300")
    text = slurm_conf.value(str(conf), "HealthCheckTimeout") or ""
    most = int(text) if text.isdecimal() and int(text) else KILLED
    if loaded.health_timeout >= most:
        findings.append(
            f"{sysconfdir / 'slurmhooks.toml'}: [node] timeout = {loaded.health_timeout:g}: slurmd kills the program"
            f" after {most} s: leave some seconds to drain the node"
        )
    return findings
