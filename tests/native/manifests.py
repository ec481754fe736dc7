# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes hook manifests for hosts, and launches with them."""

from pathlib import Path

from slurmhooks.handlers import loader
from slurmhooks.site import manifest_writer
from tests.native.hosting import Host, Run


def compile_manifest(host: Host, *patterns: Path, args: tuple[str, ...] = ("hooks.py",)) -> Path:
    """Write the manifest that 'slurmhooks compile' writes for a line of plugstack.conf.

    Args:
        host: whose hooks.py the line loads.
        patterns: the GLOBs that match it.
        args: the arguments of the line.
    """
    sources = [loader.Source(path=str(host.folder / "hooks.py"))]
    line = manifest_writer.Line(args, sources, [], loader.load(sources))
    watched = [str(host.folder / name) for name in ("hooks.py", "absent.py", *([] if patterns else [""]))]
    path = host.folder / "slurmhooks.manifest"
    # The manifest records the folder's modification time, so all files of the test must already exist.
    host.script("")
    path.write_text("")
    path.write_text(manifest_writer.render([line], watched, host.build.slurm, map(str, patterns)))
    return path


def compile_scrun(host: Host, script: str | None) -> None:
    """Write the manifest that 'slurmhooks compile' writes for scrun, with hooks.py if it exists.

    Args:
        host: whose files it names.
        script: the site's own scrun.lua.
    """
    hooks = host.folder / "hooks.py"
    sources = [loader.Source(path=str(hooks))] if hooks.exists() else []
    path = None if script is None else str(host.folder / script)
    scrun = manifest_writer.Point("scrun", sources, ("debug3", "4096"), path)
    watched = [str(host.folder / name) for name in ("hooks.py", "slurmhooks.toml")]
    (host.folder / "slurmhooks.manifest").write_text(manifest_writer.render([], watched, host.build.slurm, (), [scrun]))


def launch(host: Host, context: str, calls: str) -> Run:
    """Run calls in a context; ``mapped`` at the end shows whether Python has started."""
    return host.run(f"open sp $spank hooks.py\ncontext {context}\n{calls}\nmapped libpython")
