# SPDX-License-Identifier: GPL-2.0-or-later
"""Write and remove the scrun.lua that loads the plugin."""

from pathlib import Path

from slurmhooks.cli import configuration
from slurmhooks.files import durable

MARK = "Made by 'slurmhooks install'"
"""Only a scrun.lua with this text may be replaced; any other was written by a person."""
OWN_SCRIPT = "scrun.site.lua"
"""The name proposed for the site's own script."""


def render(template: Path, plugin_dir: Path, sysconfdir: Path, destdir: Path) -> str:
    """Write scrun.lua, or scrun.lua.slurmhooks if a person wrote the first; return what was done, for the user.

    Folders are as the daemons see them; ``destdir`` is the root of the package that is being built, otherwise /.
    """
    folder = configuration.below(destdir, sysconfdir)
    target = folder / "scrun.lua"
    content = template.read_text().replace("@PLUGIN_DIR@", str(plugin_dir)).encode()
    if target.exists() and target.read_bytes() == content:
        return f"{target}: unchanged"
    if not target.exists() or MARK in target.read_text(errors="replace"):
        durable.make(target.parent)
        durable.write(target, content, 0o644)
        return f"{target}: written"
    other = folder / "scrun.lua.slurmhooks"
    durable.write(other, content, 0o644)
    moves = f"mv {target} {folder / OWN_SCRIPT}; mv {other} {target}"
    return (
        f"{target} was not made by this command and is unchanged. Handlers of scrun need {other} in its place; it runs"
        f" the site's own script, too: {moves}; and in {folder / 'slurmhooks.toml'}:\n"
        f'      [scrun]\n      lua = "{OWN_SCRIPT}"'
    )


def remove(sysconfdir: Path) -> Path | None:
    """Remove the scrun.lua that `install` wrote; return its path, or None if there is no such file."""
    target = sysconfdir / "scrun.lua"
    if not target.exists() or MARK not in target.read_text(errors="replace"):
        return None
    target.unlink()
    return target
