# SPDX-License-Identifier: GPL-2.0-or-later
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_types_of_hook_files() -> None:
    """A correct hook file passes mypy --strict, and each mistake in refused.py is found where and as it says.

    An ``ignore`` that nothing needs is an error in strict mode, so that a mistake which mypy no longer finds fails.
    """
    names = [str(HERE / name) for name in ("accepted.py", "refused.py")]
    command = [sys.executable, "-m", "mypy", "--strict", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "Success: no issues found in 2 source files\n"


def test_every_mistake_says_which_error_it_is() -> None:
    """A bare ignore would also hide errors that nobody meant."""
    lines = (HERE / "refused.py").read_text().splitlines()
    marked = [line for line in lines if "  # type: ignore" in line]
    assert len(marked) > 30
    assert [line for line in marked if not re.search(r"# type: ignore\[[a-z, -]+\](  # noqa: \w+)?$", line)] == []
    assert "type: ignore" not in (HERE / "accepted.py").read_text()
