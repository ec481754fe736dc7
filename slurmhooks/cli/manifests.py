# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of `slurmhooks compile`: the manifest; and the installed variant of the SPANK plugin."""

import errno
import os
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from stat import S_ISDIR

from slurmhooks.cli import build_record, whole_site
from slurmhooks.cli.findings import Finding
from slurmhooks.errors import LoadError
from slurmhooks.files import home
from slurmhooks.files.paths import matches
from slurmhooks.site import manifest, manifest_writer

PLUGIN = "spank_python.so"
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of a folder that this machine must not change."""


def text_of(loaded: whole_site.Loaded, record: build_record.BuildRecord, folder: Path) -> str:
    """Return the text of the manifest.

    Args:
        loaded: the hooks of the site.
        record: the record of the installed build.
        folder: the PluginDir.
    """
    # Another build may treat the same hook files differently.
    watched = [*loaded.watched, str(folder / build_record.CORE)]
    return manifest_writer.render(loaded.lines, watched, slurm_number(record.slurm), loaded.patterns, loaded.points)


def manifest_path(sysconfdir: Path) -> Path:
    """Return the path of the manifest."""
    return Path(home.of(str(sysconfdir)), manifest.FILE_NAME)


def changed_since(began: int, loaded: whole_site.Loaded) -> list[str]:
    """Return a finding for each file that may have changed during the load: a manifest would describe another one.

    Args:
        began: nanoseconds since the epoch, from before the load.
        loaded: the hooks of the site.
    """
    names = set(loaded.watched)
    for pattern in loaded.patterns:
        with suppress(LoadError):  # its folder does not exist yet: no bundle has been deployed
            names.update(matches(pattern))
    ended = time.time_ns()
    findings = []
    for name in sorted(names):
        changed = _changed(name)
        if changed > ended:
            when = f"{datetime.fromtimestamp(changed / 1e9):%Y-%m-%d %H:%M:%S}"
            clock = "which is still to come by this machine's clock: if the clock is right, 'touch' the file"
            findings.append(f"{name}: was changed at {when}, {clock}")
        elif changed >= began:
            findings.append(f"{name}: has changed while it was loaded")
    return findings


def _changed(name: str) -> int:
    """Return when a file was last changed or moved to its name; 0 for folders, and if it does not exist."""
    try:
        status = os.stat(name)
    except OSError:
        return 0
    return 0 if S_ISDIR(status.st_mode) else status.st_ctime_ns


def slurm_number(version: str) -> int:
    """Return SLURM_VERSION_NUMBER of a version such as 24.11.5."""
    major, minor, micro = (int(part) for part in version.split("-")[0].split("."))
    return major << 16 | minor << 8 | micro


def write_manifest(text: str, path: Path) -> None:
    """Write the manifest, unless it has this text already.

    Raises:
        Finding: another text is there, and the folder cannot be written.
        OSError: it cannot be written for another reason.
    """
    try:
        if path.read_bytes() == text.encode("utf-8", "surrogateescape"):
            return
    except OSError:
        pass
    advice = (
        "the manifest was not written; the hooks work, but Python starts in every process; name a folder that"
        f" this machine can write in {home.FILE_NAME} beside slurm.conf, or run 'slurmhooks compile' where it can write"
        " this one"
    )
    try:
        manifest_writer.write(text, str(path))
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise
        raise Finding(f"{path}: {error.strerror}: {advice}") from error


def variant_of(plugin: Path) -> str:
    """Return the name of the variant that 'slurmhooks install' has chosen; "" for the one with all callbacks.

    Args:
        plugin: path of spank_python.so.
    """
    return plugin.resolve().stem.partition("-")[2] if plugin.is_symlink() else ""


def manifest_state(loaded: whole_site.Loaded, sysconfdir: Path, record: build_record.BuildRecord, folder: Path) -> str:
    """Return one line for the user: whether the manifest is what 'slurmhooks compile' would write now."""
    path = manifest_path(sysconfdir)
    expected = text_of(loaded, record, folder)
    try:
        present = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return f"{path}: none, so Python starts in every process; run 'slurmhooks compile'"
    if manifest_writer.without_times(present) != manifest_writer.without_times(expected):
        return f"{path}: stale, so Python starts in every process; run 'slurmhooks compile'"
    return f"{path}: up to date"
