# SPDX-License-Identifier: GPL-2.0-or-later
"""Find handlers that Slurm never calls because of its configuration."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from slurmhooks.cli import build_record, configuration, scrun_lua, slurm, whole_site
from slurmhooks.files import slurm_conf
from slurmhooks.handlers.registry import Handler, Registry
from slurmhooks.hooks.points import JOB_CALLBACKS, POINTS, Point
from slurmhooks.site import variants
from slurmhooks.site.manifest_writer import ManifestLine

IN_CALLS = ("job_submit", "spank", "cli_filter", "scrun")
"""The plugin points that commands and scrun serve, and job_submit; PLUGINS and programs.py have the others."""
MESSAGE_TIMEOUT = 10
"""Slurm's default of MessageTimeout, in seconds."""
PLUGINS = {point.key: point for point in POINTS.values() if point.key is not None}
"""The plugin points whose plugin a key of slurm.conf must name, besides those in IN_CALLS."""
PROC = Path("/proc")
LEAN = f"spank_python-{variants.LEAN}.so"


def never_called(loaded: whole_site.Loaded, sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return why Slurm never calls handlers, each with the remedy; without a folder, the plugins are not installed."""
    by_point = {point: _of(loaded.registry.all_handlers(), point) for point in IN_CALLS}
    in_lines = [handler for line in loaded.lines for handler in line.registry.all_handlers()]
    has_lines = bool(configuration.plugstack_arguments(sysconfdir))
    spank = _count([*by_point["spank"], *_of(in_lines, "spank")], "hook.spank")
    if not spank and any(registry.options for registry in loaded.all_registries()):
        spank = "the options of hook.spank"
    waiting = {point: _count(handlers, f"hook.{point}") for point, handlers in by_point.items()} | {"spank": spank}
    record = build_record.BuildRecord.load(folder) if folder is not None else None
    without_scrun = []
    if waiting["scrun"] and record is not None and record.lua is None:
        if slurm.find_program("scrun") is None:
            loaded.notes.append(f"this machine has no scrun, so nothing calls {waiting['scrun']} here")
        else:
            without_scrun = [f"{folder}: scrun never calls {waiting['scrun']}: the plugins were built without scrun's"
                             f" Lua; {build_record.AGAIN}"]  # fmt: skip
        waiting["scrun"] = ""
    loaded.notes += _beside(sysconfdir)
    findings = without_scrun + _missing_settings(waiting, sysconfdir, folder)
    findings += _not_loaded(loaded.registry, sysconfdir, folder)
    findings += _prologs(in_lines if has_lines else by_point["spank"], sysconfdir)
    if folder is not None:
        findings += [
            f"{folder / POINTS[point].plugin}: missing, so Slurm never calls {what}: run 'slurmhooks install' again"
            for point, what in waiting.items()
            if what and not (folder / POINTS[point].plugin).exists()
        ]
    plugins = slurm_conf.value(str(configuration.file_in(sysconfdir)), "JobSubmitPlugins") or ""
    if waiting["job_submit"] or configuration.has_plugin(plugins, "job_submit"):
        findings += _timeout(loaded.request_timeout, sysconfdir)
    if waiting["scrun"]:
        findings += _scrun_lua(waiting["scrun"], sysconfdir, folder)
    if has_lines and not loaded.findings and not loaded.disabled:
        findings += _elsewhere(by_point, in_lines)
    return findings


def _beside(sysconfdir: Path) -> Iterator[str]:
    """Yield a note for each script of the set that Slurm's own plugin runs, too, and for plugins after ours."""
    conf = configuration.file_in(sysconfdir)
    for point, key in (("job_submit", "JobSubmitPlugins"), ("cli_filter", "CliFilterPlugins")):
        value = slurm_conf.value(str(conf), key) or ""
        if configuration.runs_twice(sysconfdir, value, point):
            yield f"{conf}: {key}={value}: the plugin lua of Slurm runs {point}.lua, too: leave lua out"
        elif names := configuration.changing_after(value, point):
            yield f"{conf}: {key}={value}: no handler sees what {' and '.join(names)} changes: put python last"


def _timeout(seconds: float, sysconfdir: Path) -> list[str]:
    """Return a finding if clients may give up while a request is still decided."""
    text = slurm_conf.value(str(configuration.file_in(sysconfdir)), "MessageTimeout") or ""
    waits = int(text) if text.isascii() and text.isdigit() else MESSAGE_TIMEOUT
    if seconds <= waits / 2:
        return []
    return [
        f"{sysconfdir / 'slurmhooks.toml'}: [job_submit] timeout = {seconds:g}: sbatch waits {waits} seconds"
        " (MessageTimeout of slurm.conf), then reports a failure although the job may be accepted, so users submit it"
        f" again: set at most {waits / 2:g}, or a longer MessageTimeout"
    ]


def _of(handlers: Iterable[Handler], point: str) -> list[Handler]:
    return [handler for handler in handlers if handler.spec.point == point]


def _count(handlers: Sequence[Handler], hook: str) -> str:
    """Return handlers in words, for messages; "" if there are none."""
    count = len({handler.where for handler in handlers})
    if count <= 1:
        return f"handler {handlers[0].label} of hook.{handlers[0].spec.name}" if handlers else ""
    return f"the {count} handlers of {hook}, such as {handlers[0].label}"


def _missing_settings(waiting: dict[str, str], sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return a finding for each line that slurm.conf and plugstack.conf lack."""
    everything = next(filter(None, waiting.values()), "")
    findings = []
    # Missing plugins are a separate finding; without them, no folder can be added to PluginDir.
    for setting in configuration.settings(sysconfdir, folder or Path("/")):
        what = waiting.get(setting.why.removeprefix("hook."), "")
        if setting.line.startswith("PluginDir=") and folder is not None:
            what = everything
        if what and not setting.present:
            findings.append(f"{setting.file}: Slurm never calls {what}: it needs the line {setting.line}")
    return findings


def _prologs(handlers: Sequence[Handler], sysconfdir: Path) -> list[str]:
    """Return a finding if slurmstepd runs prolog and epilog: SPANK has no callbacks for them there."""
    conf = configuration.file_in(sysconfdir)
    flags = (slurm_conf.value(str(conf), "PrologFlags") or "").lower().split(",")
    lost = [each for each in handlers if each.spec.name in ("spank.job_prolog", "spank.job_epilog")]
    if not lost or "runinjob" not in flags:
        return []
    what = _count(lost, " and ".join(sorted({f"hook.{each.spec.name}" for each in lost})))
    return [
        f"{conf}: with PrologFlags=RunInJob, Slurm never calls {what}: remove this flag, or use task_post_fork and exit"
        " of the extern step instead"
    ]


def _scrun_lua(what: str, sysconfdir: Path, folder: Path | None) -> list[str]:
    path = sysconfdir / "scrun.lua"
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        return [f"{path}: scrun never calls {what}: {error.strerror}; run 'slurmhooks install'"]
    if scrun_lua.MARK not in text:
        return [
            f"{path}: scrun never calls {what}: it was not made by 'slurmhooks install', which says how both can run"
        ]
    if folder is not None and str(folder / POINTS["scrun"].plugin) not in text:
        return [f"{path}: scrun never calls {what}: it loads another plugin than that in {folder}; run"
                " 'slurmhooks install' again"]  # fmt: skip
    return []


def _elsewhere(by_point: dict[str, list[Handler]], in_lines: list[Handler]) -> list[str]:
    """Return the handlers whose files only the wrong configuration file names.

    SPANK reads plugstack.conf, job_submit and scrun read slurmhooks.toml.
    """
    in_plugstack = {handler.where for handler in in_lines}
    findings = [
        f"{handler.where}: Slurm never calls handler {handler.label} of hook.{handler.spec.name}: slurmhooks.toml names"
        " its file, and no line of plugstack.conf does"
        for handler in by_point["spank"]
        if handler.where not in in_plugstack
    ]
    for point in ("job_submit", "cli_filter", "scrun"):
        in_toml = {handler.where for handler in by_point[point]}
        findings += [
            f"{handler.where}: Slurm never calls handler {handler.label} of hook.{handler.spec.name}: a line of"
            " plugstack.conf names its file, and slurmhooks.toml does not"
            for handler in _of(in_lines, point)
            if handler.where not in in_toml
        ]
    return findings


def _not_loaded(registry: Registry, sysconfdir: Path, folder: Path | None) -> list[str]:
    """Return a finding for each reason why slurmctld would not call handlers, with the remedy."""
    conf = configuration.file_in(sysconfdir)
    findings = []
    for key, point in PLUGINS.items():
        labels = [f"{handler.label} of hook.{name}" for name in point.called for handler in registry.handlers(name)]
        if not labels:
            continue
        line = _line(key, point, slurm_conf.value(str(conf), key))
        if line is not None:
            findings.append(f"{conf}: Slurm never calls handler {labels[0]}: it needs the line {line}")
        if folder is not None and not (folder / point.plugin).exists():
            findings.append(
                f"{folder / point.plugin}: not there, so Slurm never calls handler {labels[0]}:"
                " run 'slurmhooks install' again"
            )
        if point.name == "site_factor" and slurm_conf.value(str(conf), "PriorityType") == "priority/basic":
            findings.append(
                f"{conf}: Slurm never calls handler {labels[0]}: it needs the line PriorityType=priority/multifactor"
            )
    return findings


def _line(key: str, point: Point, value: str | None) -> str | None:
    """Return the line that slurm.conf lacks; None if it has the line."""
    value = value or point.default or ""
    if configuration.has_plugin(value, point.name):
        return None
    others = value if point.default is not None else ""
    return f"{key}={configuration.with_plugin(others, point.name, f'{point.name}/python')}"


def not_yet_called(lines: list[ManifestLine]) -> list[str]:
    """Return a finding for each handler of a prolog or epilog that a running slurmd does not call yet.

    It looks only at its start, or when it is reconfigured, whether plugins export these callbacks.
    """
    handlers = [
        handler for line in lines for name in JOB_CALLBACKS for handler in line.registry.handlers(f"spank.{name}")
    ]
    if not handlers:
        return []
    return [
        f"{handler.where}: slurmd (process {pid}) does not call handler {handler.label} yet, because {why}: restart"
        " slurmd; from Slurm 23.11 on 'scontrol reconfigure' will do; then run this command again"
        for pid, why in _blind()
        for handler in handlers
    ]


def _blind() -> list[tuple[int, str]]:
    """Return each slurmd on this machine that does not know our callbacks, and why."""
    found = []
    for process in PROC.iterdir():
        if not process.name.isdecimal():
            continue
        with suppress(OSError):  # it has ended, or is not ours
            if (process / "comm").read_text() != "slurmd\n":
                continue
            if not os.path.samefile(process / "root", "/"):  # it is in a container
                continue
            maps = (process / "maps").read_text(errors="replace")
            if LEAN in maps:
                found.append((int(process.name), "it has started with the lean plugin"))
            elif "/spank_python" not in maps:
                found.append((int(process.name), "it has started without a line for spank_python.so in plugstack.conf"))
    return found
