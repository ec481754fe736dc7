# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes hook manifests for hosts, and launches with them."""

from pathlib import Path

from slurmhooks import identity
from slurmhooks.handlers import loader
from slurmhooks.site import manifest, manifest_writer
from tests.native.hosting import Host, Run
from tests.sets import put_in_force


def deployed(folder: Path) -> Path:
    """Let a folder be its own set in force; return the path of the manifest."""
    return put_in_force(folder) / manifest.FILE_NAME


def compile_manifest(host: Host, args: tuple[str, ...] = ("hooks.py",)) -> Path:
    """Write the manifest that 'slurmhooks deploy' writes for a line of plugstack.conf."""
    sources = [loader.Source(path=str(host.folder / "hooks.py"))]
    line = manifest_writer.ManifestLine(args, sources, [], loader.load(sources))
    path = deployed(host.folder)
    path.write_bytes(manifest_writer.render([line], host.build.slurm, identity.here()))
    return path


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a manifest, which keeps a right checksum."""
    first, _, rest = path.read_text().partition("\n")
    assert old in rest
    path.write_bytes(manifest_writer.sealed(first.rpartition(" ")[0] + " ", rest.replace(old, new).encode()))


def compile_scrun(host: Host, script: str | None) -> None:
    """Write the manifest that 'slurmhooks deploy' writes for scrun, with hooks.py if it exists."""
    hooks = host.folder / "hooks.py"
    sources = [loader.Source(path=str(hooks))] if hooks.exists() else []
    path = None if script is None else str(host.folder / script)
    scrun = manifest_writer.Point("scrun", sources, ("debug3", "4096"), path)
    deployed(host.folder).write_bytes(manifest_writer.render([], host.build.slurm, identity.here(), [scrun]))


def launch(host: Host, context: str, calls: str) -> Run:
    """Run calls in a context; ``mapped`` at the end shows whether Python has started."""
    return host.run(f"open sp $spank hooks.py\ncontext {context}\n{calls}\nmapped libpython")
