# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest


@pytest.fixture
def public_path(tmp_path: Path) -> Path:
    """Make a folder that every user can enter; only the owner can enter those of pytest."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(os.environ["PYTEST_DEBUG_TEMPROOT"]):
            break
        folder.chmod(folder.stat().st_mode | 0o005)
    return tmp_path
