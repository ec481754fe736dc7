# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin point scrun: staging of OCI containers, in the anchor process of scrun.

Hook files import building blocks from here. Each can be used alone, and is imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.scrun.binds import Bind, copy_binds, return_binds
    from slurmhooks.scrun.commands import CommandResult
    from slurmhooks.scrun.configs import (
        drop_cgroup,
        drop_hooks,
        drop_mount_owners,
        drop_rlimits,
        merge_environment,
        rootless,
        use_user_namespace,
    )
    from slurmhooks.scrun.errors import BundleError, CancelledError, StagingError
    from slurmhooks.scrun.model import Container
    from slurmhooks.scrun.mount_points import inside
    from slurmhooks.scrun.oci import Config
    from slurmhooks.scrun.staging import Staging
    from slurmhooks.scrun.trees import CopyResult, copy_file, copy_tree, remove_tree

__all__ = [
    "Bind",
    "BundleError",
    "CancelledError",
    "CommandResult",
    "Config",
    "Container",
    "CopyResult",
    "Staging",
    "StagingError",
    "copy_binds",
    "copy_file",
    "copy_tree",
    "drop_cgroup",
    "drop_hooks",
    "drop_mount_owners",
    "drop_rlimits",
    "inside",
    "merge_environment",
    "remove_tree",
    "return_binds",
    "rootless",
    "use_user_namespace",
]

_MODULES = {
    "binds": ("Bind", "copy_binds", "return_binds"),
    "commands": ("CommandResult",),
    "errors": ("BundleError", "CancelledError", "StagingError"),
    "model": ("Container",),
    "mount_points": ("inside",),
    "oci": ("Config",),
    "staging": ("Staging",),
    "trees": ("CopyResult", "copy_file", "copy_tree", "remove_tree"),
}


def __getattr__(name: str) -> object:
    """Import a building block at its first use, because imports delay the start of a container."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = next((module for module, names in _MODULES.items() if name in names), "configs")
    block: object = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = block
    return block
