# SPDX-License-Identifier: GPL-2.0-or-later
"""Find hooks of programs that Slurm never runs, programs without hooks, and health checks that slurmd would kill."""

import os
from pathlib import Path

from slurmhooks.burst_buffer import script
from slurmhooks.cli import build_record, configuration, slurm, whole_site
from slurmhooks.files import home, slurm_conf
from slurmhooks.hooks.points import HOOKS, POINTS

REBOOT = "power.reboot"
FROM_CONTROLLER = "reboot_from_controller"
TYPE = "burst_buffer/lua"
ONLY = ("START_ONLY", "REBOOT_ONLY")
"""Values of HealthCheckNodeState that need no interval."""
KILLED = 60
"""Seconds after which slurmd kills the program, unless HealthCheckTimeout says otherwise."""


def problems(loaded: whole_site.Loaded, sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return findings about the lines of slurm.conf that hooks of programs need, and about those that need hooks."""
    if folder is None:
        return []
    conf = configuration.file_in(sysconfdir)
    findings, wanted = [], False
    for hook, name in build_record.HANDING_OVER.items():
        spec = HOOKS[hook]
        handlers = loaded.registry.handlers(hook)
        program = folder / name
        named = slurm_conf.value(str(conf), spec.function)
        action = _action(conf, named)
        if action is not None:
            named = slurm_conf.value_in(action, "Program")
        if handlers:
            wanted |= spec.point == "power" and hook != REBOOT
            what = f"slurmctld never calls handler {handlers[0].label} of hook.{spec.name}"
            if not program.exists():
                findings.append(f"{program}: missing, so {what}: run 'slurmhooks install' again")
            if not build_record.is_program(named, program):
                instead = f" instead of {named}" if named else ""
                findings.append(f"{conf}: {what}: it needs the line {spec.function}={program}{instead}")
        elif build_record.is_program(named, program) and not loaded.findings:
            findings.append(
                f"{conf}: {spec.function}={program}: no handler of hook.{spec.name} is loaded, so nothing is done:"
                " write one, or take the line out"
            )
    if loaded.registry.handlers(REBOOT) and not _reboots(conf):
        findings.append(
            f"{conf}: slurmd runs RebootProgram on the node, where hook.{REBOOT} has no handler: it needs the line"
            f" SlurmctldParameters={FROM_CONTROLLER}"
        )
    if wanted and not _suspends(conf):
        findings.append(f"{conf}: Slurm starts and stops no nodes: it needs a line such as SuspendTime=600")
    return [*findings, *_burst_buffer(loaded, sysconfdir, folder / build_record.BURST_BUFFER)]


def _burst_buffer(loaded: whole_site.Loaded, sysconfdir: Path, program: Path) -> list[str]:
    """Return findings about what hooks of burst buffers need, and about a burst_buffer.lua that needs hooks."""
    handlers = [each for spec in POINTS["burst_buffer"].hooks for each in loaded.registry.handlers(spec.name)]
    path = sysconfdir / script.LINK
    is_ours = script.is_linked(sysconfdir)
    if not handlers:
        if is_ours and not loaded.findings:
            return [f"{path}: no handler of hook.burst_buffer is loaded, so nothing is done: write one, or remove it"]
        return []
    what = f"slurmctld never calls handler {handlers[0].label} of hook.{handlers[0].spec.name}"
    conf = configuration.file_in(sysconfdir)
    findings = []
    if not program.exists():
        findings.append(f"{program}: missing, so {what}: run 'slurmhooks install' again")
    if not is_ours and slurm.find_program("slurmctld") is not None:
        instead = "it is another script" if os.path.lexists(path) else "it does not exist"
        target = f"{home.of(str(sysconfdir))}/{home.SET}/{script.FILE_NAME}"
        findings.append(f"{path}: {what}: {instead}: run 'ln -sfT {target} {path}'")
    if TYPE not in configuration.names_in(slurm_conf.value(str(conf), "BurstBufferType") or ""):
        findings.append(f"{conf}: {what}: it needs the line BurstBufferType={TYPE}")
    return findings


def _suspends(conf: Path) -> bool:
    """Tell whether power saving is on, for all nodes or for those of a partition."""
    return any("suspendtime=" in line.lower().replace(" ", "") for line in slurm_conf.lines(str(conf)))


def _action(conf: Path, name: str | None) -> str | None:
    """Return the line of a PowerAction, which a program may be from Slurm 26.05 on; None if there is none."""
    lines = slurm_conf.lines(str(conf)) if name else ()
    return next((line for line in lines if slurm_conf.value_in(line, "PowerAction") == name), None)


def _reboots(conf: Path) -> bool:
    action = _action(conf, slurm_conf.value(str(conf), "RebootProgram"))
    if action is not None:
        return (slurm_conf.value_in(action, "Location") or "").lower() == "slurmctld"
    return FROM_CONTROLLER in (slurm_conf.value(str(conf), "SlurmctldParameters") or "").lower()


def of_health(loaded: whole_site.Loaded, sysconfdir: Path, folder: Path | None) -> list[str]:
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
