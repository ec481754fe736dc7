# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds the stubs for type checkers to a wheel; an editable install has them in the checkout."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Runs stubs.py."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stubs, and name them for the wheel."""
        stubs = Path(self.root) / "tools" / "stubs.py"
        if version == "editable":
            subprocess.run([sys.executable, stubs], check=True)
            return
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        subprocess.run([sys.executable, stubs, folder], check=True)
        for path in sorted(folder.rglob("*.pyi")):
            build_data["force_include"][str(path)] = str(path.relative_to(folder))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the copies."""
        if version != "editable":
            self._folder.cleanup()
