# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration under which slurmhooks runs a script, and the way back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Setup:
    """What to change for a script.

    Attributes:
        toml: lines of slurmhooks.toml; empty for spank-lua scripts.
        file: the configuration file of Slurm to change.
        before: its line today.
        after: the line that replaces it.
        then: what to do next.
        back: the way back.
    """

    toml: str
    file: str
    before: str
    after: str
    then: str
    back: str


def setup(family: str, script: str, folder: str, current: str | None, version: str | None) -> Setup:
    """Return what to change.

    ``folder`` has slurm.conf and slurmhooks.toml. ``current`` is the value of the key in slurm.conf today, if known.
    ``version`` is of Lua; None: the default.
    """
    lua = f"\n[lua]\nversion = {json.dumps(version)}\n" if version else ""
    if family == "spank":
        glob = os.path.join(os.path.dirname(script), "*.lua")
        return Setup(
            lua.lstrip("\n"), f"{folder}/plugstack.conf", f"required lua.so {glob}",
            f"required spank_python.so {glob}",
            "slurmhooks deploy, on every login and compute node; new launches use it at once",
            "put the old line back; the scripts themselves do not change",
        )  # fmt: skip
    relative = os.path.relpath(script, folder)
    name = script if relative.startswith("..") else relative
    key = {"job_submit": "JobSubmitPlugins", "cli_filter": "CliFilterPlugins"}[family]
    plugins = [word.strip().removeprefix(f"{family}/") for word in (current or "lua").split(",") if word.strip()]
    before = plugins if "lua" in plugins else ["lua" if plugin == "python" else plugin for plugin in plugins]
    after = list(dict.fromkeys("python" if plugin == "lua" else plugin for plugin in plugins))
    if "python" not in after:
        after.append("python")
    then = "restart slurmctld" if family == "job_submit" else "slurmhooks deploy, on every machine where users submit"
    back = f"put {key}={','.join(before)} back{' and restart slurmctld' if family == 'job_submit' else ''}"
    return Setup(
        f"[{family}]\nlua = {json.dumps(name)}\n{lua}",
        f"{folder}/slurm.conf",
        f"{key}={','.join(before)}",
        f"{key}={','.join(after)}",
        then,
        f"{back}; the script and slurmhooks.toml may stay",
    )
