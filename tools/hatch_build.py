# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds what is written from the code: stubs for type checkers to a wheel, and manual pages to a wheel and an sdist.

An editable install has the stubs in the checkout. An unpacked sdist has the pages, so that building it needs only
hatchling.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = "contrib/share/man"


class CustomBuildHook(BuildHookInterface[Any]):
    """Runs tools/make_stubs.py and docs/manpages.py."""

    @property
    def _from_sdist(self) -> bool:
        return Path(self.root, "PKG-INFO").exists()

    def dependencies(self) -> list[str]:
        """Return what the program needs that writes the manual pages: it imports all commands."""
        return [] if self._from_sdist else self.metadata.core.dependencies

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files, and name them for the archive."""
        if version == "editable":
            self._run("tools/make_stubs.py")
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        if self.target_name == "wheel":
            self._run("tools/make_stubs.py", folder / "stubs")
            include(build_data["force_include"], folder / "stubs")
        man = Path(self.root, PAGES)
        if not self._from_sdist:
            man = folder / "man"
            self._run("docs/manpages.py", man)
        # Named in an unpacked sdist, too, because the order in the archive follows from it.
        if self.target_name == "sdist":
            include(build_data["force_include"], man, PAGES)
        else:
            build_data["shared_data"][str(man)] = "share/man"

    def _run(self, program: str, *arguments: Path) -> None:
        subprocess.run([sys.executable, Path(self.root, program), *arguments], check=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies."""
        if version != "editable":
            self._folder.cleanup()


def include(files: dict[str, str], folder: Path, target: str = "") -> None:
    """Name the files of a folder for an archive."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        files[str(path)] = str(Path(target, path.relative_to(folder)))
