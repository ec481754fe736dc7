# SPDX-License-Identifier: GPL-2.0-or-later
"""The published name of the pytest plugin.

pytest imports this module in every test run on a machine where slurmhooks is installed, also if the workshop is not.
"""

from importlib.util import find_spec

# A folder that lacks __init__.py, such as one with the caches of a removed package, is found, too, but has no origin.
if (found := find_spec("slurmhooks.workshop")) and found.origin:
    from slurmhooks.workshop.pytest_plugin import *  # noqa: F403 (fixtures and pytest's hooks are found by their names)
