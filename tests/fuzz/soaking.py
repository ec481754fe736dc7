# SPDX-License-Identifier: GPL-2.0-or-later
"""Run libFuzzer under ``make soak``: how long, and where new inputs are kept."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = int(os.environ.get("SLURMHOOKS_FUZZ_RUNS", "10000000"))
"""Inputs for each target; the search may end earlier, after SECONDS."""
SECONDS = int(os.environ.get("SLURMHOOKS_FUZZ_SECONDS", "0"))
"""The most seconds for each target; 0: no limit."""
LIMIT = SECONDS + 600 if SECONDS else 24 * 3600
"""Seconds after which a test of a target has failed."""
CORPUS = Path(__file__).parent / "corpus"
"""Kept inputs, by target."""
FOUND = ROOT / "build" / "fuzz" / "found"
"""Inputs that reach new code, by target; those with a finding are beside the folders."""


def search(name: str, program: Sequence[str]) -> None:
    """Search inputs for a target, and print how many were run, past pytest's capture.

    Raises:
        AssertionError: there is a finding; the text is the end of its output.
    """
    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    command = [*program, f"-runs={RUNS}", f"-max_total_time={SECONDS}", "-timeout=30", "-rss_limit_mb=2048"]
    command += ["-max_len=4096", f"-artifact_prefix={found}-", str(found), str(CORPUS / name)]
    process = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    output = process.stderr.decode(errors="replace")
    assert process.returncode == 0, output[-8000:]
    done = re.search(r"Done (\d+) (?:runs )?in (\d+) second", output)
    assert done, output[-8000:]
    runs, seconds = int(done[1]), int(done[2])
    assert SECONDS or runs >= RUNS, output[-8000:]
    line = f"\nfuzz {name}: {runs} runs in {seconds} s, {runs / max(seconds, 1):.0f} per second\n"
    sys.__stderr__.write(line) if sys.__stderr__ else None
