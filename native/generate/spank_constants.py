# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the constants of spank.h as rows of a C array, so that a new release of Slurm needs only a rebuild.

Usage: spank_constants.py OUTPUT -- COMPILER ARGS, where the compiler finds the headers of the Slurm release to build
for.
"""

from __future__ import annotations

import sys
from pathlib import Path

from headers import Headers


def main() -> None:
    """Write the rows."""
    output, separator, *compiler = sys.argv[1:]
    if separator != "--":
        sys.exit("usage: spank_constants.py OUTPUT -- COMPILER ARGS...")
    names = Headers(compiler, "#include <slurm/spank.h>\n").enumerators("ESPANK_", "S_")
    Path(output).write_text("".join(f'{{"{name}", {name}}},\n' for name in names))


main()
