# SPDX-License-Identifier: GPL-2.0-or-later
"""Print the facts about the running Python that meson.build needs, one per line.

Usage: python_facts.py PATHS, where PATHS is the search path of the embedded interpreter (empty: that of this Python).
"""

import json
import os
import runpy
import sys
import sysconfig


def main() -> None:
    """Print executable, prefix, base prefix, search path (C strings), and folders of libpython, stdlib, slurmhooks."""
    paths = [entry for entry in (sys.argv[1].split(os.pathsep) if sys.argv[1] else sys.path[1:]) if entry]
    print(sys.executable)
    print(sys.prefix)
    print(sys.base_prefix)
    print("".join(json.dumps(entry) + ", " for entry in paths))
    packages = (os.path.join(entry, "slurmhooks") for entry in paths)
    package = next((folder for folder in packages if os.path.exists(os.path.join(folder, "py.typed"))), None)
    if package is None:
        sys.exit(f"{sys.executable} cannot import slurmhooks: it is in no folder of the build option python_paths")
    # Not imported, because the search path of this process may be another one.
    library = runpy.run_path(os.path.join(package, "cli", "python_facts.py"))["libpython"]()
    if library is None:
        sys.exit(f"{sys.executable} has no shared libpython: this Python cannot be embedded")
    print(os.path.dirname(library))
    print(sysconfig.get_path("stdlib"))
    print(package)
    print(os.path.realpath(sys.executable))  # without links


main()
