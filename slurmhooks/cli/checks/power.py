# SPDX-License-Identifier: GPL-2.0-or-later
"""Find power hooks that slurmctld never calls, and power programs without hooks."""

from pathlib import Path

from slurmhooks.cli import build_record, configuration, whole_site
from slurmhooks.files import slurm_conf
from slurmhooks.hooks.points import POINTS

REBOOT = "power.reboot"
FROM_CONTROLLER = "reboot_from_controller"


def problems(loaded: whole_site.Loaded, sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return findings about the lines of slurm.conf that power hooks need, and about those that need hooks.

    Args:
        loaded: the hooks of the site.
        sysconfdir: where slurm.conf is.
        folder: the PluginDir; None if the plugins are not installed.
    """
    if folder is None:
        return []
    conf = configuration.file_in(sysconfdir)
    findings, wanted = [], False
    for spec in POINTS["power"].hooks:
        handlers = loaded.registry.handlers(spec.name)
        program = folder / build_record.POWER_PROGRAMS[spec.name]
        named = slurm_conf.value(str(conf), spec.function)
        action = _action(conf, named)
        if action is not None:
            named = slurm_conf.value_in(action, "Program")
        if handlers:
            wanted |= spec.name != REBOOT
            what = f"slurmctld never calls handler {handlers[0].label} of hook.{spec.name}"
            if not program.exists():
                findings.append(f"{program}: missing, so {what}: run 'slurmhooks install' again")
            if named != str(program):
                instead = f" instead of {named}" if named else ""
                findings.append(f"{conf}: {what}: it needs the line {spec.function}={program}{instead}")
        elif named == str(program) and not loaded.findings:
            findings.append(
                f"{conf}: {spec.function}={program}: no handler of hook.{spec.name} is loaded, so nothing happens to"
                " the nodes: write one, or take the line out"
            )
    if loaded.registry.handlers(REBOOT) and not _reboots(conf):
        findings.append(
            f"{conf}: slurmd runs RebootProgram on the node, where hook.{REBOOT} has no handler: it needs the line"
            f" SlurmctldParameters={FROM_CONTROLLER}"
        )
    if wanted and not _suspends(conf):
        findings.append(f"{conf}: Slurm starts and stops no nodes: it needs a line such as SuspendTime=600")
    return findings


def _suspends(conf: Path) -> bool:
    """Tell whether power saving is on, for all nodes or for those of a partition."""
    return any("suspendtime=" in line.lower().replace(" ", "") for line in slurm_conf.lines(str(conf)))


def _action(conf: Path, name: str | None) -> str | None:
    """Return the line of a PowerAction, which a program may be from Slurm 26.05 on; None if there is none."""
    lines = slurm_conf.lines(str(conf)) if name else ()
    return next((line for line in lines if slurm_conf.value_in(line, "PowerAction") == name), None)


def _reboots(conf: Path) -> bool:
    """Tell whether slurmctld runs RebootProgram."""
    action = _action(conf, slurm_conf.value(str(conf), "RebootProgram"))
    if action is not None:
        return (slurm_conf.value_in(action, "Location") or "").lower() == "slurmctld"
    return FROM_CONTROLLER in (slurm_conf.value(str(conf), "SlurmctldParameters") or "").lower()
