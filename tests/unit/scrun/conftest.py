# SPDX-License-Identifier: GPL-2.0-or-later
import os
from pathlib import Path

import pytest


@pytest.fixture
def public_path(tmp_path: Path) -> Path:
    """A test's folder that every user can enter; those that pytest makes are its user's alone."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(os.environ["PYTEST_DEBUG_TEMPROOT"]):
            break
        folder.chmod(folder.stat().st_mode | 0o005)
    return tmp_path
