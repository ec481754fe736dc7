# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the version script of a variant of the SPANK plugin: which symbols it exports.

Usage: spank_exports.py OUTPUT VARIANT [SYMBOL...], with further symbols that this release of Slurm reads.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
# In a checkout, or in an installed package.
sys.path.insert(0, str(next(path for path in HERE.parents if (path / "slurmhooks" / "wire").is_dir())))

from slurmhooks.hooks.points import POINTS  # noqa: E402
from slurmhooks.site.variants import COSTLY_CALLBACKS, exported  # noqa: E402

VARIABLES = ("plugin_name", "plugin_type", "plugin_version", "spank_plugin_version")


def main(output: Path, variant: str, *symbols: str) -> None:
    """Write the script."""
    left_out = set(COSTLY_CALLBACKS) - set(exported(variant))
    functions = (f"slurm_spank_{name}" for name in POINTS["spank"].functions if name not in left_out)
    names = "".join(f"        {name};\n" for name in (*VARIABLES, *symbols, *functions))
    output.write_text(f"{{\n    global:\n{names}    local:\n        *;\n}};\n")


main(Path(sys.argv[1]), *sys.argv[2:])
