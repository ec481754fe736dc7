# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by tests of slurmhooks.testing: a hook file on disk."""

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def hooks(write: Write) -> Callable[[str], Path]:
    """Return a function that writes a hook file."""

    def make(source: str) -> Path:
        return write("hooks.py", "from slurmhooks import Reject, hook, log\n" + source)

    return make
