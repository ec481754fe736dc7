# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""A hook file whose handlers refuse where the user says: FAIL=callback@context, or FAIL=everywhere."""

from slurmhooks import Reject, hook


def named(spank):
    """Return where to fail; prolog and epilog get it from the job control environment."""
    return (spank.job_control_env if spank.context == "job_script" else spank.env).get("FAIL", "")


def fail(spank):
    """Refuse if this callback and context are the chosen ones."""
    if named(spank) in (f"{spank.callback}@{spank.context}", "everywhere"):
        raise Reject(f"refused in {spank.callback} of {spank.context}")


@hook.spank.init_post_opt(contexts=["allocator", "local"], order=1)
def tell(spank):
    """Pass the place to prolog and epilog."""
    spank.job_control_env["FAIL"] = spank.env.get("FAIL", "")


for callback in (
    "init",
    "job_prolog",
    "init_post_opt",
    "local_user_init",
    "user_init",
    "task_init_privileged",
    "task_init",
    "task_post_fork",
    "task_exit",
    "exit",
    "job_epilog",
):
    getattr(hook.spank, callback)(fail)
