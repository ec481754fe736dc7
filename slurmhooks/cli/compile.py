# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the hook manifest, so that Python starts only where a handler is."""

import os
from pathlib import Path

import click

from slurmhooks import manifest
from slurmhooks.cli import _load, _native, _site
from slurmhooks.cli._findings import Finding, Findings
from slurmhooks.cli._progress import note

PLUGIN = "spank_python.so"


@click.command("compile")
@_site.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
def command(sysconfdir: Path, plugin_dir: Path | None) -> None:
    """Write the hook manifest, so that Python starts only where a handler is.

    Run it on every machine after hook files, plugstack.conf or slurmhooks itself have changed; without it, all works,
    only slower. It loads everything as the daemons would, writes slurmhooks.manifest beside slurm.conf, and puts that
    variant of spank_python.so in place which makes Slurm do no more than the handlers need.
    """
    folder = plugin_dir or _site.installed_in(sysconfdir)
    record = _native.BuildRecord.load(folder) if folder else None
    if folder is None or record is None:
        raise Finding(
            "no plugins found in slurm.conf's PluginDir: run 'slurmhooks install' first, or give --plugin-dir"
        )
    other = _native.other_version(record)
    if other is not None:
        raise Finding(other)
    loaded = _load.Loaded()
    loaded.load(sysconfdir)
    if loaded.findings:
        raise Findings([*loaded.findings, "the manifest was not written"])
    notes = [*_load.ignored_modes(loaded.lines, record), *_load.too_long(loaded.lines)]
    for text in [*loaded.notes, *loaded.disabled, *notes]:
        note(text)
    manifest.write(text_of(loaded, record, folder), str(sysconfdir / manifest.FILE_NAME))
    chosen = choose_variant(folder, manifest.variant(line.registry for line in loaded.lines))
    count = len({handler.label for line in loaded.lines for handler in line.registry.all_handlers()})
    note(f"{sysconfdir / manifest.FILE_NAME}: {len(loaded.lines)} lines of plugstack.conf, {count} handlers")
    note(f"{folder / PLUGIN}: {chosen}")


def text_of(loaded: _load.Loaded, record: _native.BuildRecord, folder: Path) -> str:
    """Return the text of the manifest.

    Args:
        loaded: what the daemons would load.
        record: of the installed build.
        folder: the PluginDir.
    """
    # Another build may read hook files in another way.
    watched = [*loaded.watched, str(folder / _native.CORE)]
    return manifest.render(loaded.lines, watched, slurm_number(record.slurm), loaded.patterns, loaded.points)


def slurm_number(version: str) -> int:
    """Return SLURM_VERSION_NUMBER of a version such as 24.11.5."""
    major, minor, micro = (int(part) for part in version.split("-")[0].split("."))
    return major << 16 | minor << 8 | micro


def choose_variant(folder: Path, name: str) -> str:
    """Put a variant of the plugin in place, in one step.

    Args:
        folder: the PluginDir.
        name: one of :data:`slurmhooks.manifest.VARIANTS`.

    Returns:
        what it exports, for the user.

    Raises:
        Finding: the variant is not installed.
    """
    variant = Path("slurmhooks", f"spank_python-{name}.so")
    if not (folder / variant).exists():
        raise Finding(f"{folder / variant} is missing: run 'slurmhooks install' again")
    target = folder / PLUGIN
    before = manifest.exported(_load.variant_of(target))
    if not (target.is_symlink() and os.readlink(target) == str(variant)):
        temporary = folder / f".{PLUGIN}.{os.getpid()}"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(variant)
        temporary.replace(target)
    extra = manifest.exported(name)
    if any(callback in extra and callback not in before for callback in manifest.JOB_CALLBACKS):
        note("restart slurmd: it reads only at its start whether plugins export job_prolog and job_epilog")
    return f"offers {', '.join(extra)} to Slurm" if extra else "offers Slurm no callback that costs"
