# SPDX-License-Identifier: GPL-2.0-or-later
"""Write identity.h: the hash of the sources, which tells builds of one version number apart.

Usage: identity.py OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
# In a checkout, or in an installed package.
sys.path.insert(0, str(next(path for path in HERE.parents if (path / "slurmhooks" / "wire").is_dir())))

from slurmhooks import identity  # noqa: E402


def main(output: Path) -> None:
    """Write the header, unless it has this text already: everything that includes it would be compiled again."""
    text = (
        "/* SPDX-License-Identifier: GPL-2.0-or-later */\n"
        "/* Written by native/generate/identity.py. */\n"
        f'#define SLURMHOOKS_IDENTITY "{identity.here()}"\n'
    )
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


main(Path(sys.argv[1]))
