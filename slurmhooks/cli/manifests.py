# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook manifest of a set, and the installed variant of the SPANK plugin."""

from pathlib import Path

from slurmhooks.cli import build_record, whole_site
from slurmhooks.errors import LoadError
from slurmhooks.files import home, trusted
from slurmhooks.site import manifest, manifest_writer

PLUGIN = "spank_python.so"


def content_of(loaded: whole_site.Loaded, record: build_record.BuildRecord) -> bytes:
    """Return the manifest."""
    return manifest_writer.render(loaded.lines, slurm_number(record.slurm), record.sources, loaded.points)


def path_in(sysconfdir: Path) -> Path:
    """Return the path of the manifest in force."""
    return Path(home.of(str(sysconfdir)), home.SET, manifest.FILE_NAME)


def why_not(path: Path, record: build_record.BuildRecord) -> str | None:
    """Return why processes do not use a manifest; None if they do."""
    try:
        first = trusted.read(str(path)).partition(b"\n")[0]
    except FileNotFoundError:
        return "there is none"
    except (LoadError, OSError) as error:
        return f"it cannot be read: {error}"
    fits = first.startswith(manifest_writer.header(slurm_number(record.slurm), record.sources).encode())
    return None if fits else "it was written for another build of slurmhooks or another release of Slurm"


def slurm_number(version: str) -> int:
    """Return SLURM_VERSION_NUMBER of a version such as 24.11.5."""
    major, minor, micro = (int(part) for part in version.split("-")[0].split("."))
    return major << 16 | minor << 8 | micro


def variant_of(plugin: Path) -> str:
    """Return the name of the variant that 'slurmhooks install' has chosen; "" for the one with all callbacks."""
    return plugin.resolve().stem.partition("-")[2] if plugin.is_symlink() else ""


def state(sysconfdir: Path, record: build_record.BuildRecord) -> str | None:
    """Return one line for the user: whether launches use the manifest of the set in force; None: there is no set."""
    path = path_in(sysconfdir)
    if not path.parent.exists():
        return None
    reason = why_not(path, record)
    if reason is not None:
        return f"{path}: not used, so Python starts in every process: {reason}; {REMEDY}"
    return f"{path}: up to date"


REMEDY = "'slurmhooks install' writes it again"
