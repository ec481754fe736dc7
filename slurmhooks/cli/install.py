# SPDX-License-Identifier: GPL-2.0-or-later
"""Put what was built where Slurm looks for plugins."""

import filecmp
import os
from pathlib import Path

import click

from slurmhooks.cli import _native, _site, _slurm
from slurmhooks.cli._findings import Finding, Findings

TEMPLATE = "scrun.lua.in"
# Tells a scrun.lua that may be replaced from one that a person wrote.
MARK = "Made by 'slurmhooks install'"
OWN_SCRIPT = "scrun.site.lua"
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
@click.option("--sysconfdir", type=ABSOLUTE, default="/etc/slurm", show_default=True, help="Where slurm.conf is.")
@click.option("--destdir", type=ABSOLUTE, default="/", help="For packagers: stands in for / while copying.")
def command(source: Path, plugin_dir: Path | None, sysconfdir: Path, destdir: Path) -> None:
    """Put what was built where Slurm looks for plugins, and say which lines Slurm's configuration still needs.

    Configuration files of Slurm are read, never changed; of scrun.lua only one that this command has made.
    """
    for option, path in (("--plugin-dir", plugin_dir), ("--sysconfdir", sysconfdir)):
        if path and not path.is_absolute():
            raise click.UsageError(f"{option} {path}: the daemons need an absolute path")
    destdir = destdir.absolute()
    record = _native.BuildRecord.load(source)
    if record is None:
        raise Finding(f"{source} holds no build: slurmhooks build --output {source}")
    folder = plugin_dir or _site.find_plugin_dir(sysconfdir, destdir)
    missing = [name for name in record.files if not (source / name).is_file()]
    findings = [f"{source / name} is missing: slurmhooks build --output {source}" for name in missing]
    if destdir == Path("/"):
        findings += misfits(record)
    if folder is None:
        guesses = " or ".join(str(path) for path in _slurm.usual_plugin_dirs(destdir))
        hint = f"; {guesses} looks right" if guesses else ""
        findings.append(f"{sysconfdir}/slurm.conf names no PluginDir that exists: name one with --plugin-dir{hint}")
    if findings:
        raise Findings(findings)
    assert folder is not None

    written = copy_plugins(record, source, _site.below(destdir, folder))
    click.echo(f"{folder}: {written} of {len(plugins_of(record))} files written, the others were there already")
    if TEMPLATE in record.files:
        click.echo(render_scrun_lua(source / TEMPLATE, folder, sysconfdir, destdir))
    if destdir == Path("/"):
        for finding in _site.writable_by_others(record.python.paths):
            click.echo(f"{click.style('warning:', fg='yellow')} {finding}", err=True)
    show_settings(_site.settings(sysconfdir, folder, destdir))


def misfits(record: _native.BuildRecord) -> list[str]:
    """Return why a build would not work on this machine, one line each."""
    found = [
        f"the plugins are built for Slurm {record.slurm}, {program} is {version}: slurmhooks build again"
        for program, version in _slurm.installed_versions()
        if str(version) != record.slurm
    ]
    other = _native.other_version(record)
    found += [] if other is None else [other]
    if not Path(record.python.libpython).exists():
        found.append(f"{record.python.libpython} is not there any more: slurmhooks build again")
    return found


def plugins_of(record: _native.BuildRecord) -> list[str]:
    """Return those files of a build that belong in the plugin folder."""
    return [name for name in record.files if name != TEMPLATE]


def copy_plugins(record: _native.BuildRecord, source: Path, folder: Path) -> int:
    """Copy a build to the plugin folder, delete what an older one had more; return how many files were written."""
    before = _native.files_of(folder)
    names = plugins_of(record)
    written = 0
    # The stubs last: an srun that starts meanwhile must not meet a new stub with an old library.
    for name in sorted(names, key=lambda name: name.count("/"), reverse=True):
        if not _chosen(folder / name, names):
            written += _copy(source / name, folder / name)
    _copy(_native.BuildRecord.path_in(source), _native.BuildRecord.path_in(folder))
    for name in before - set(names):
        (folder / name).unlink(missing_ok=True)
    return written


def _chosen(target: Path, names: list[str]) -> bool:
    """Tell whether 'slurmhooks compile' has put a variant there that this build has too: the choice stays."""
    return target.is_symlink() and os.readlink(target) in names


def _copy(source: Path, target: Path) -> bool:
    if target.exists() and filecmp.cmp(source, target, shallow=False):
        return False
    mode = 0o755 if source.suffix == ".so" else 0o644
    _site.replace(target, source.read_bytes(), mode)
    return True


def render_scrun_lua(template: Path, plugin_dir: Path, sysconfdir: Path, destdir: Path) -> str:
    """Write scrun.lua, or beside it if a person wrote the one that is there; return what was done."""
    folder = _site.below(destdir, sysconfdir)
    target = folder / "scrun.lua"
    content = template.read_text().replace("@PLUGIN_DIR@", str(plugin_dir)).encode()
    if target.exists() and target.read_bytes() == content:
        return f"{target}: there"
    if not target.exists() or MARK in target.read_text(errors="replace"):
        _site.replace(target, content, 0o644)
        return f"{target}: written"
    other = folder / "scrun.lua.slurmhooks"
    _site.replace(other, content, 0o644)
    return (
        f"{target} is not ours and was left alone. Handlers of scrun need {other} in its place; it runs the site's own"
        f" script too: mv {target} {folder / OWN_SCRIPT}; mv {other} {target}; and in {folder / 'slurmhooks.toml'}:\n"
        f'      [scrun]\n      lua = "{OWN_SCRIPT}"'
    )


def show_settings(settings: list[_site.Setting]) -> None:
    """Print which lines the configuration still needs."""
    missing = [setting for setting in settings if not setting.present]
    for setting in settings:
        if setting.present and setting.line.startswith("[hooks]"):
            click.echo(f"{setting.file}: there")
        elif setting.present:
            click.echo(f"{setting.file}: has {setting.line}")
    if not missing:
        click.echo("Nothing is left to be configured. Restart slurmctld and slurmd to load the new build.")
        return
    click.echo("To be done by hand, then restart slurmctld and slurmd:")
    for setting in missing:
        click.echo(f"  {setting.file} needs ({setting.why}):")
        for line in setting.line.splitlines():
            click.echo(f"      {line}")
