# SPDX-License-Identifier: GPL-2.0-or-later
"""Copy the plugins to where Slurm looks for them."""

import filecmp
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from slurmhooks.cli import build_record, configuration, manifests, parameters, scrun_lua, slurm
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.cli.forked import in_child
from slurmhooks.files import durable, slurm_conf
from slurmhooks.site import variants

ABSOLUTE = click.Path(path_type=Path)


@click.command("install")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, file_okay=False, exists=True, resolve_path=True),
    required=True,
    help="The output folder of slurmhooks build.",
)
@click.option("--plugin-dir", type=ABSOLUTE, help="Default: the first existing folder of slurm.conf's PluginDir.")
@click.option(
    "--sysconfdir",
    type=ABSOLUTE,
    default=slurm_conf.directory,
    show_default=parameters.CHOSEN,
    help="Where slurm.conf is.",
)
@click.option(
    "--lean",
    is_flag=True,
    help="Leave out the callbacks of SPANK that cost Slurm time: a process for each prolog and epilog, and with"
    " contain_spank a clone for each task. Only for sites without such handlers.",
)
@click.option("--destdir", type=ABSOLUTE, default="/", help="For packagers: copy into this folder instead of /.")
def command(source: Path, plugin_dir: Path | None, sysconfdir: Path, lean: bool, destdir: Path) -> None:
    """Copy the plugins to where Slurm looks for them, and list the lines that Slurm's configuration needs.

    This command does not change configuration files of Slurm, except a scrun.lua that it wrote itself.
    """
    for option, path in (("--plugin-dir", plugin_dir), ("--sysconfdir", sysconfdir)):
        if path and not path.is_absolute():
            raise click.UsageError(f"{option} {path}: the daemons need an absolute path")
    destdir = destdir.absolute()
    record = build_record.BuildRecord.load(source)
    if record is None:
        raise Finding(f"{source} contains no build: slurmhooks build --output {source}")
    present = configuration.all_installed_in(sysconfdir) if destdir == Path("/") else []
    # An upgrade replaces the plugins where they are.
    folder = plugin_dir or next(iter(present), None) or configuration.find_plugin_dir(sysconfdir, destdir)
    missing = [name for name in record.files if not (source / name).is_file()]
    findings = [f"{source / name} is missing: slurmhooks build --output {source}" for name in missing]
    if destdir == Path("/"):
        findings += build_record.misfits(record, source)
    findings += [
        f"{other} has plugins of slurmhooks, too, and Slurm loads some of either: name that folder with --plugin-dir,"
        f" or remove them with 'slurmhooks uninstall --plugin-dir {shlex.quote(str(other))}'"
        for other in present
        if folder is not None and other.resolve() != folder.resolve()
    ]
    if folder is None:
        guesses = " or ".join(str(path) for path in slurm.usual_plugin_dirs(destdir))
        hint = f"; {guesses} looks right" if guesses else ""
        findings.append(
            f"{configuration.file_in(sysconfdir)} names no PluginDir that exists: name one with --plugin-dir{hint}"
        )
    if lean and destdir == Path("/"):
        findings += needed_callbacks(sysconfdir)
    if findings:
        raise Findings(findings)
    assert folder is not None

    for loss in losses(build_record.BuildRecord.load(configuration.below(destdir, folder)), record):
        click.echo(f"{click.style('warning:', fg='yellow')} {loss}", err=True)
    written = copy_plugins(record, source, configuration.below(destdir, folder), lean)
    unchanged = len(build_record.plugins_of(record)) - written
    click.echo(f"{folder}: files written: {written}, unchanged: {unchanged}")
    if build_record.TEMPLATE in record.files:
        click.echo(scrun_lua.render(source / build_record.TEMPLATE, folder, sysconfdir, destdir))
    if destdir == Path("/"):
        for finding in configuration.writable_by_others(record.python.paths):
            click.echo(f"{click.style('warning:', fg='yellow')} {finding}", err=True)
    show_settings(configuration.settings(sysconfdir, folder, destdir), parameters.words_for(sysconfdir))


def needed_callbacks(sysconfdir: Path) -> list[str]:
    """Return a finding for each handler in force that the lean plugin would leave out: slurmd would not start.

    If hooks do not load, nobody knows what they need, and the reasons are the findings.
    """
    from slurmhooks.cli.checks import report

    if not configuration.file_in(sysconfdir).exists():
        return []
    costly = {f"hook.spank.{name}" for name in variants.COSTLY_CALLBACKS}
    loaded = in_child(report.of_loading, sysconfdir, None)
    return loaded.findings + [
        f"{row.where}: --lean leaves out what handler {row.handler} of {row.hook} needs"
        for row in loaded.handlers
        if row.hook in costly
    ]


def copy_plugins(record: build_record.BuildRecord, source: Path, folder: Path, lean: bool) -> int:
    """Copy a build to the PluginDir and remove leftovers of an older build; return how many files were written.

    Args:
        record: of the build.
        source: its folder.
        folder: the PluginDir.
        lean: choose the SPANK plugin that leaves callbacks out.
    """
    before = build_record.files_of(folder)
    names = build_record.plugins_of(record)
    written = 0
    # Copy the stubs last: an srun that starts meanwhile must not load a new stub with an old library.
    for name in sorted(names, key=lambda name: name.count("/"), reverse=True):
        if lean and name == manifests.PLUGIN:
            written += _link(folder / name, f"slurmhooks/spank_python-{variants.LEAN}.so")
        else:
            written += _copy(source / name, folder / name)
    _copy(build_record.BuildRecord.path_in(source), build_record.BuildRecord.path_in(folder))
    for name in before - set(names):
        (folder / name).unlink(missing_ok=True)
    return written


def _link(target: Path, variant: str) -> bool:
    if target.is_symlink() and os.readlink(target) == variant:
        return False
    durable.make(target.parent)
    durable.link(target, variant)
    return True


def _copy(source: Path, target: Path) -> bool:
    if not target.is_symlink() and target.exists() and filecmp.cmp(source, target, shallow=False):
        return False
    mode = 0o755 if source.suffix == ".so" or source.name in build_record.PROGRAMS else 0o644
    durable.make(target.parent)
    durable.write(target, source.read_bytes(), mode)
    return True


def losses(before: build_record.BuildRecord | None, record: build_record.BuildRecord) -> Iterator[str]:
    """Yield what the installed build has, and the new one lacks."""
    if before is None:
        return
    if before.tiers.private and not record.tiers.private:
        yield (
            "the installed plugins have job records and tables of slurmctld, the new ones have not: handlers that need"
            " them do not load; 'slurmhooks build --slurm-source DIR' adds them"
        )
    if before.lua is not None and record.lua is None:
        yield "the installed plugins include that for scrun, the new ones do not: install scrun before the build"


def show_settings(settings: list[configuration.Setting], words: str) -> None:
    """Print the lines that the configuration has and needs; ``words`` let a command use the same folder."""
    missing = [setting for setting in settings if not setting.present]
    for setting in settings:
        if setting.present and setting.line.startswith("[hooks]"):
            click.echo(f"{setting.file}: exists")
        elif setting.present:
            click.echo(f"{setting.file}: has {setting.line}")
    if not missing:
        click.echo("The configuration is complete. Restart slurmctld and slurmd to load the new build.")
        return
    click.echo("Add these lines by hand, of the hooks that you use:")
    for setting in missing:
        click.echo(f"  {setting.file} needs ({setting.why}):")
        for line in setting.line.splitlines():
            click.echo(f"      {line}")
    # If Slurm's lines are there and this folder is not, no hooks load, and nobody can submit jobs.
    folders = [setting.file.parent / "hooks.d" for setting in missing if setting.line.startswith("[hooks]")]
    create = "".join(f"create {folder}, " for folder in folders)
    click.echo(f"Then {create}run 'slurmhooks deploy{words}', and restart slurmctld and slurmd once it has succeeded.")
