#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Helper of node_features/helpers: transparent huge pages, as features of a node that jobs may ask for.

Without an argument it prints the feature that is active; with one it makes that feature active.
"""

import re
import sys
from pathlib import Path

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
FEATURES = {"thp_always": "always", "thp_madvise": "madvise", "thp_never": "never"}


def main(wanted: str | None) -> None:
    """Raise an exception if a feature cannot be set: slurmd then sets the node to DOWN, and its job waits again."""
    if wanted is not None:
        SETTING.write_text(FEATURES[wanted])
        return
    active = re.findall(r"\[(\w+)\]", SETTING.read_text())
    sys.stdout.writelines(f"{feature}\n" for feature, word in FEATURES.items() if word in active)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
