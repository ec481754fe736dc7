# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for the anchor process of scrun: runs staging handlers on a real bundle, for ``slurmhooks try scrun``."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import Outcome
from slurmhooks.handlers.registry import Registry
from slurmhooks.log import log
from slurmhooks.scrun import commands
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.model import CONFIG, Container
from slurmhooks.scrun.trees import copy_tree, remove_tree
from slurmhooks.values import text_from_c
from slurmhooks.workshop.testing.jobs import JOB_ID


class FakeAnchor:
    """A container without scrun, whose handlers really run: as this user, in this process.

    ``allocator_command`` and ``remote_command`` run commands on this machine, because there is no job.

    Args:
        registry: the site's handlers; see :func:`slurmhooks.handlers.loader.load`.
        bundle: path of the bundle.
        in_place: give the handlers the bundle itself. Otherwise they get a copy, which :meth:`close` removes; a root
            file system outside the bundle is not copied.
        container_id: name of the container; by default the name of the bundle.
        user_id: user id of the job; by default that of this process.
        group_id: group id of the job; by default that of this process.
        job_env: environment of the job; by default the variables that scrun sets.

    Attributes:
        bundle: path of the bundle as set by the handlers.
        root_path: path of the root file system as set by the handlers; None if it is unset.
        job_env: environment of the job, which handlers change.

    Raises:
        StagingError: the bundle cannot be copied.
        BundleError: its config.json is missing or invalid, which scrun refuses before it runs handlers.
    """

    def __init__(
        self,
        registry: Registry,
        bundle: str | os.PathLike[str],
        *,
        in_place: bool = False,
        container_id: str | None = None,
        user_id: int | None = None,
        group_id: int | None = None,
        job_env: Mapping[str, str] | None = None,
    ) -> None:
        path = os.path.abspath(bundle)
        self._registry = registry
        self._id = container_id or os.path.basename(path)
        self._user_id = os.getuid() if user_id is None else user_id
        self._group_id = os.getgid() if group_id is None else group_id
        self._temporary = tempfile.mkdtemp(prefix="slurmhooks-try-")
        self._spool_dir = os.path.join(self._temporary, "spool")
        os.mkdir(self._spool_dir)
        self._orig_bundle = path
        try:
            if not in_place:
                self._orig_bundle = os.path.join(self._temporary, "bundle")
                copy_tree(path, self._orig_bundle)
            self._orig_root_path = self._root()
        except StagingError:
            self.close()
            raise
        self.bundle = self._orig_bundle
        self.root_path: str | None = None
        self._before = self._config_lines(self._orig_bundle)
        self.job_env = dict(job_env) if job_env is not None else self._usual_env()

    def __enter__(self) -> FakeAnchor:
        """Return this object."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove the copy."""
        self.close()

    def close(self) -> None:
        """Remove the copy of the bundle; files that handlers made elsewhere remain."""
        remove_tree(self._temporary)

    def stage_in(self) -> Outcome:
        """Run the handlers of ``stage_in`` and return the outcome for scrun."""
        return self._run("stage_in", {"orig_bundle": self._orig_bundle, "root_path": None, "orig_root_path": None})

    def stage_out(self) -> Outcome:
        """Run the handlers of ``stage_out``, with the paths that ``stage_in`` set."""
        paths: dict[str, str | None] = {
            "orig_bundle": self._orig_bundle,
            "root_path": self.root_path or self._orig_root_path,
            "orig_root_path": self._orig_root_path,
        }
        return self._run("stage_out", paths)

    def config_diff(self) -> list[str]:
        """Return the difference between the original config.json and that of the job, as lines of a unified diff."""
        after = self._config_lines(self.bundle)
        names = (os.path.join(self._orig_bundle, CONFIG), os.path.join(self.bundle, CONFIG))
        return list(difflib.unified_diff(self._before, after, *names, lineterm=""))

    def ask(self, function: str, argument: bytes) -> tuple[int, bytes]:
        """Answer a call of the container as scrun would; see model.Ask."""
        if function == "set_bundle_path":
            self.bundle = text_from_c(argument)
            return 0, os.fsencode(self._orig_bundle)
        if function == "set_root_path":
            self.root_path = text_from_c(argument)
            return 0, os.fsencode(self._orig_root_path)
        log.info("remote_command runs on this machine, because there is no job")
        environment = {os.fsencode(name): os.fsencode(value) for name, value in self.job_env.items()}
        return commands.run(argument, environment, lambda: False)

    def _run(self, name: str, paths: dict[str, str | None]) -> Outcome:
        values: dict[str, Any] = {
            "id": self._id,
            "bundle": self.bundle,
            "spool_dir": self._spool_dir,
            "config_file": os.path.join(self._orig_bundle, CONFIG),
            "job_id": JOB_ID,
            "user_id": self._user_id,
            "group_id": self._group_id,
            **paths,
        }
        container = Container(values, self.job_env, self.ask)
        return dispatch.run(self._registry.handlers(f"scrun.{name}"), {"container": container}, container)

    def _root(self) -> str:
        from slurmhooks.scrun import oci

        config = oci.read(os.path.join(self._orig_bundle, CONFIG))
        return os.path.join(self._orig_bundle, config.root.path if config.root is not None else "rootfs")

    @staticmethod
    def _config_lines(bundle: str) -> list[str]:
        import json

        from slurmhooks.scrun import oci

        content = oci.read(os.path.join(bundle, CONFIG)).to_json()
        return json.dumps(content, indent=2, ensure_ascii=False).splitlines()

    def _usual_env(self) -> dict[str, str]:
        # As in alloc.c:_script_env.
        return {
            "SLURM_JOB_ID": str(JOB_ID),
            "SCRUN_CONTAINER_ID": self._id,
            "SCRUN_BUNDLE": self._orig_bundle,
            "SCRUN_SUBMISSION_BUNDLE": self._orig_bundle,
            "SCRUN_SPOOL_DIR": self._spool_dir,
            "SCRUN_SUBMISSION_CONFIG_FILE": os.path.join(self._orig_bundle, CONFIG),
            "SCRUN_USER_ID": str(self._user_id),
            "SCRUN_GROUP_ID": str(self._group_id),
            "SCRUN_ROOTFS_PATH": self._orig_root_path,
        }
