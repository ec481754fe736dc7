# SPDX-License-Identifier: GPL-2.0-or-later
"""Remove the plugins from Slurm's plugin folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from slurmhooks.burst_buffer import script
from slurmhooks.cli import build_record, configuration, controllers, output, parameters, scrun_lua
from slurmhooks.cli.bundles import signature
from slurmhooks.cli.checks import calls
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.collector.folders import decisions_folder, spool_folder
from slurmhooks.errors import SlurmhooksError
from slurmhooks.files import home, slurm_conf
from slurmhooks.files.paths import matches
from slurmhooks.node import state as health
from slurmhooks.site import sources
from slurmhooks.site.sources import FILE_NAME
from slurmhooks.spank import state_file


@click.command("uninstall")
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: all folders of slurm.conf's PluginDir.")
@parameters.sysconfdir_option
def command(plugin_dir: Path | None, sysconfdir: Path) -> None:
    """Remove what 'slurmhooks install' has written: the plugins, and its own scrun.lua.

    The command refuses while Slurm's configuration names the plugins, because slurmctld and srun do not start without
    a plugin that their configuration names, and while a slurmctld of this machine has loaded them, because its workers
    could not be replaced. It does not remove the site's files and what slurmhooks has recorded, and lists them.
    """
    folders = [plugin_dir] if plugin_dir is not None else configuration.all_installed_in(sysconfdir)
    if not folders:
        click.echo("no plugins are installed")
        return
    findings: list[str] = []
    for folder in folders:
        if not build_record.BuildRecord.path_in(folder).exists():
            raise Finding(f"{folder} has no plugins of slurmhooks: name their folder with --plugin-dir")
        findings += programs(sysconfdir, folder)
    # If plugins of another folder stay, Slurm finds those.
    if {each.resolve() for each in configuration.all_installed_in(sysconfdir)} <= {each.resolve() for each in folders}:
        findings += [*uses(sysconfdir, folders[0]), *running(sysconfdir)]
    if findings:
        raise Findings(findings)
    for folder in folders:
        remove(folder)
    removed = scrun_lua.remove(sysconfdir)
    if removed:
        click.echo(f"{removed}: removed")
    output.show("what stays, because it is the site's, or was recorded here", left(sysconfdir))


def left(sysconfdir: Path) -> list[str]:
    """Return the files and folders of slurmhooks that exist on this machine besides the plugins and the environment."""
    parameters.use(sysconfdir)
    folder = home.of(str(sysconfdir))
    own = (FILE_NAME, home.SET, home.FILE_NAME, signature.ALLOWED, "hooks.d", "slurmhooks.d")
    names = [f"{folder}/{name}" for name in own]
    spool = log = None
    try:
        read = sources.shown_config()
    except SlurmhooksError as error:
        output.note(f"files that slurmhooks.toml names elsewhere are not listed: {error}")
    else:
        names += [name for pattern in read.hooks.paths for name in matches(home.placed(pattern, folder))]
        spool, log = read.jobcomp.spool, read.decisions.folder
    names += [spool_folder(None), spool_folder(spool), decisions_folder(log), health.FOLDER, state_file.FOLDER]
    kept = sorted({name for name in names if os.path.lexists(name)})
    return [name for name in kept if not any(name.startswith(f"{other}/") for other in kept)]


def remove(folder: Path) -> None:
    """Remove the plugins of a folder."""
    links = {Path(name).name for name in build_record.PROGRAMS.values() if (folder / Path(name).name).is_symlink()}
    for name in sorted(build_record.files_of(folder) | links):
        (folder / name).unlink(missing_ok=True)
    build_record.BuildRecord.path_in(folder).unlink()
    own = build_record.BuildRecord.path_in(folder).parent
    (own / home.EXPECTS_SET).unlink(missing_ok=True)
    if not any(own.iterdir()):
        own.rmdir()
    click.echo(f"{folder}: removed the plugins")


def running(sysconfdir: Path) -> Iterator[str]:
    """Yield which slurmctld of this machine has loaded the plugins, with the remedy."""
    found, notes = controllers.find_running(sysconfdir)
    for each in found:
        yield (
            f"the slurmctld that runs here has loaded the plugin {each.point}/python (supervisor {each.supervisor}):"
            " restart it without that plugin, and try again"
        )
    yield from (note for note in notes if "unknown" in note)


def uses(sysconfdir: Path, folder: Path) -> Iterator[str]:
    """Yield where Slurm's configuration names the plugins, with the remedy."""
    remedy = "take slurmhooks' plugin out of it, restart Slurm's daemons, and try again"
    conf = configuration.file_in(sysconfdir)
    for setting in configuration.settings(sysconfdir, folder):
        # An existing slurmhooks.toml and a folder in PluginDir do no harm without the plugins.
        if setting.present and setting.why.startswith("hook."):
            yield f"{setting.file} has '{setting.line}': {remedy}"
    for key, point in calls.PLUGINS.items():
        value = slurm_conf.value(str(conf), key) or ""
        if configuration.has_plugin(value, point.name):
            yield f"{conf} has '{key}={value}': {remedy}"


def programs(sysconfdir: Path, folder: Path) -> Iterator[str]:
    """Yield where slurm.conf, or burst_buffer.lua, names programs of a folder, with the remedy."""
    conf = configuration.file_in(sysconfdir)
    if script.is_linked(sysconfdir):
        yield (
            f"{sysconfdir / script.LINK} leads to the script of a set: take BurstBufferType out of {conf}, restart"
            " slurmctld, remove the link, and try again"
        )
    lines = list(slurm_conf.lines(str(conf)))
    for key, name in build_record.PROGRAMS.items():
        named = slurm_conf.value(str(conf), key)
        if build_record.is_program(named, folder / name):
            yield f"{conf} has '{key}={named}': take it out, restart Slurm's daemons, and try again"
        for action in (slurm_conf.value_in(line, "Program") for line in lines):
            if build_record.is_program(action, folder / name):
                yield f"{conf} has a PowerAction with {action}: take it out, restart Slurm's daemons, and try again"
