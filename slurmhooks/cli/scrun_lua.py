# SPDX-License-Identifier: GPL-2.0-or-later
"""The scrun.lua that loads the plugin."""

from pathlib import Path

from slurmhooks.cli import configuration, files

# Tells a scrun.lua that may be replaced from one that a person wrote.
MARK = "Made by 'slurmhooks install'"
OWN_SCRIPT = "scrun.site.lua"


def render(template: Path, plugin_dir: Path, sysconfdir: Path, destdir: Path) -> str:
    """Write scrun.lua, or beside it if a person wrote the one that is there; return what was done."""
    folder = configuration.below(destdir, sysconfdir)
    target = folder / "scrun.lua"
    content = template.read_text().replace("@PLUGIN_DIR@", str(plugin_dir)).encode()
    if target.exists() and target.read_bytes() == content:
        return f"{target}: there"
    if not target.exists() or MARK in target.read_text(errors="replace"):
        files.replace(target, content, 0o644)
        return f"{target}: written"
    other = folder / "scrun.lua.slurmhooks"
    files.replace(other, content, 0o644)
    return (
        f"{target} is not ours and was left alone. Handlers of scrun need {other} in its place; it runs the site's own"
        f" script too: mv {target} {folder / OWN_SCRIPT}; mv {other} {target}; and in {folder / 'slurmhooks.toml'}:\n"
        f'      [scrun]\n      lua = "{OWN_SCRIPT}"'
    )
