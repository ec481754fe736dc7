# SPDX-License-Identifier: GPL-2.0-or-later
"""Print the facts about the running Python that meson.build needs, one per line.

Usage: python_facts.py PATHS, where PATHS is the search path of the embedded interpreter (empty: that of this Python).
"""

import json
import os
import sys
import sysconfig


def libpython_directory() -> str:
    """Return the folder of the shared libpython, which Debian puts into a subfolder of LIBDIR."""
    libdir = sysconfig.get_config_var("LIBDIR")
    soname = sysconfig.get_config_var("INSTSONAME")
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in (os.path.join(libdir, multiarch), libdir):
        if os.path.exists(os.path.join(folder, soname)):
            return folder
    sys.exit(f"no shared {soname} in {libdir}: this Python cannot be embedded")


def main() -> None:
    """Print executable, prefix, base prefix, search path (C strings), and folders of libpython, stdlib, slurmhooks."""
    paths = [entry for entry in (sys.argv[1].split(os.pathsep) if sys.argv[1] else sys.path[1:]) if entry]
    print(sys.executable)
    print(sys.prefix)
    print(sys.base_prefix)
    print("".join(json.dumps(entry) + ", " for entry in paths))
    print(libpython_directory())
    print(sysconfig.get_path("stdlib"))
    packages = (os.path.join(entry, "slurmhooks") for entry in paths)
    package = next((folder for folder in packages if os.path.exists(os.path.join(folder, "py.typed"))), None)
    if package is None:
        sys.exit(f"{sys.executable} cannot import slurmhooks: it is in no folder of the build option python_paths")
    print(package)


main()
