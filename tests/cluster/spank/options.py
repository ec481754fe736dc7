# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Options of every kind, and handlers that record their values everywhere."""

import json
import os

from slurmhooks import Reject, hook

word = hook.spank.option("opt-word", "WORD", usage="[site] a word, which must not be bad")
number = hook.spank.option("opt-number", "N", usage="a number", type=int)
flag = hook.spank.option("opt-flag", usage="no argument; " + "and a long text that --help has to wrap " * 4)
maybe = hook.spank.option("opt-maybe", "WORD", usage="perhaps an argument", optional=True)
only_srun = hook.spank.option("opt-srun", usage="for srun only", contexts=["local", "remote"])
late = hook.spank.option("opt-late", "WORD", usage="not known to commands", contexts=["remote", "job_script"])
broken = hook.spank.option("opt-broken", "WORD", usage="its check has a bug")

OPTIONS = (word, number, flag, maybe, only_srun, late, broken)


@word.check
def not_bad(value):
    """Refuse one value, change another."""
    if value == "bad":
        raise Reject("'bad' is not allowed here")
    return value.upper() if value == "shout" else value


@late.check
def not_bad_either(value):
    """Refuse a value that no command has checked."""
    if value == "bad":
        raise ValueError("bad is bad")
    return value


@broken.check
def bug(value):
    """Fail with another exception."""
    return 1 // 0


def write_down(spank):
    """Append the values of all options."""
    values = {option.name: option.value for option in OPTIONS if option.given}
    each = {option.name: option.values for option in OPTIONS if option.given}
    fields = {"callback": spank.callback, "context": spank.context, "values": values, "args": list(spank.args)}
    fields["each"] = each
    if spank.context == "remote":
        fields["job"] = spank.job_id
        fields["step"] = spank.step_name
    with open("/opt/spank/records", "a") as file:
        file.write(json.dumps({**fields, "pid": os.getpid()}) + "\n")


for callback in ("init_post_opt", "local_user_init", "task_init", "exit", "job_prolog", "job_epilog"):
    getattr(hook.spank, callback)(write_down)


@hook.spank.init_post_opt(contexts=["local"], order=60)
def forge(spank):
    """Pass an unchecked value to prolog and epilog, as a user's own client could."""
    if spank.env.get("FORGE"):
        spank.job_control_env["_SLURM_SPANK_OPTION_python_opt_late"] = spank.env["FORGE"]
