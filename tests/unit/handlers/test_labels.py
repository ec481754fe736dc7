# SPDX-License-Identifier: GPL-2.0-or-later
"""The name of a handler in texts that leave slurmhooks."""

import string

import pytest
from rich.console import Console
from rich.text import Text

from slurmhooks.handlers.labels import ending

NAMES = ("limits", "INFO", "red", "bold red", "/", "make.<locals>.check", "a-b", *string.ascii_letters)


@pytest.mark.parametrize("file", NAMES)
def test_survives_styles(file: str) -> None:
    """Whoever prints a refusal with rich, which takes words in brackets for styles, shows its label."""
    for name in NAMES:
        text = "name a time limit with --time" + ending(f"{file}:{name}")
        assert Text.from_markup(text).plain == text
        with (console := Console(width=200)).capture() as shown:
            console.print(text)
        assert shown.get().rstrip("\n") == text
