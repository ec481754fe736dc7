# SPDX-License-Identifier: GPL-2.0-or-later
"""Heads of hook files whose handlers note what a test asks for."""

HEAD = "import json, os\nfrom slurmhooks import Reject, hook, log\nfrom slurmhooks.errors import SpankError\n"
NOTE = """
def note(**fields):
    with open("/opt/spank/records", "a") as file:
        file.write(json.dumps(fields) + "\\n")
"""
