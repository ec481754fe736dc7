# SPDX-License-Identifier: GPL-2.0-or-later
"""How long each target runs under ``make soak``, where new inputs are kept, and what is printed."""

import os
import sys
from pathlib import Path

SECONDS = int(os.environ.get("SLURMHOOKS_FUZZ_SECONDS", "60"))
CORPUS = Path(__file__).parent / "corpus"
"""Kept inputs, by target."""
FOUND = Path(__file__).resolve().parents[2] / "build" / "fuzz" / "found"
"""Inputs that reach new code, by target; those with a finding are beside the folders."""


def report(target: str, runs: int, seconds: float) -> None:
    """Print how many inputs a target has run, past pytest's capture."""
    line = f"\nfuzz {target}: {runs} runs in {seconds:.0f} s, {runs / max(seconds, 1):.0f} per second\n"
    sys.__stderr__.write(line) if sys.__stderr__ else None
