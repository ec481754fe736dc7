# SPDX-License-Identifier: GPL-2.0-or-later
"""The imports of scrun's anchor."""

from collections.abc import Callable
from pathlib import Path

from tests.unit.test_imports import BOTH, isolated

MAY_BE_IMPORTED_BY_THE_ANCHOR = BOTH | {
    "slurmhooks.entry.launch_handlers",
    "slurmhooks.scrun",
    "slurmhooks.scrun.cancel",
    "slurmhooks.entry.scrun",
    "slurmhooks.scrun.model",
    "_slurmhooks_scrun",
}
"""What a container costs whose handlers do nothing."""


STAGING = """
from slurmhooks import hook, log

@hook.scrun.stage_in
def stage_in(container):
    container.root_path = container.bundle + "/rootfs"
    log.info("ran")

@hook.scrun.stage_out
def stage_out(container):
    log.info(container.bundle)
"""


ANCHOR = """
import sys

before = set(sys.modules)


class Native:
    '''The compiled module, and a container: what stands for an address is the object itself.'''

    def __init__(self):
        self.logged, self.told = [], []

    def values(self, container):
        texts = ("id", "bundle", "orig_bundle", "root_path", "orig_root_path", "spool_dir", "config_file")
        return {**dict.fromkeys(texts, "/box"), **dict.fromkeys(("job_id", "user_id", "group_id"), 0)}

    def job_env(self, container):
        return ["A=1"]

    def cancelled(self, container):
        return False

    def ask(self, container, function, argument):
        self.told.append((function, argument))
        return False, 0, b""

    def log(self, level, text):
        self.logged.append(text.decode())

    text_at = bytes

    def job_is_over(self, job):
        return False


sys.modules["_slurmhooks_scrun"] = native = Native()
sys.modules["_slurmhooks_compile"] = native
sys.path.append(sys.argv[1])
from slurmhooks.entry import scrun as entry

answers = [entry.stage_in(native, MANIFEST), entry.stage_out(native, MANIFEST)]
print(answers, native.told, native.logged)
print(*(set(sys.modules) - before))
"""


def test_a_container_whose_handlers_import_nothing(write: Callable[..., Path]) -> None:
    """With a manifest, scrun's anchor imports only the listed modules; pydantic only for container.config."""
    path = write("hooks.d/hooks.py", STAGING)
    manifest = "\n".join(["slurmhooks-manifest", "scrun", f"source {path}", "log debug3 4096", "end", ""])
    said, imported = isolated(write("anchor.py", ANCHOR.replace("MANIFEST", repr(manifest.encode()))))
    assert said == (
        "[(0, None, 0), (0, None, 0)] [('set_root_path', b'/box/rootfs')] ['slurmhooks: ran', 'slurmhooks: /box']"
    )
    assert imported - MAY_BE_IMPORTED_BY_THE_ANCHOR == set()
