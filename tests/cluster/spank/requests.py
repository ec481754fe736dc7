# SPDX-License-Identifier: GPL-2.0-or-later
# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Options that handlers of job_submit read and set; one file for slurmctld, commands and nodes."""

import json

from slurmhooks import hook

word = hook.spank.option("req-word", "WORD", usage="a word")
number = hook.spank.option("req-number", "N", usage="a number", type=int)
flag = hook.spank.option("req-flag", usage="no argument")
maybe = hook.spank.option("req-maybe", "WORD", usage="perhaps an argument", optional=True)

OPTIONS = (word, number, flag, maybe)
WORD = 'Ada, "größe" 5%s'


def write_down(**fields):
    """Append a record."""
    with open("/opt/spank/records", "a") as file:
        file.write(json.dumps(fields) + "\n")


@hook.job_submit
def change(job):
    """Record the options of a request, and do what its comment says."""
    found = {option.name: option.of(job) for option in OPTIONS}
    write_down(hook="job_submit", values={name: value for name, value in found.items() if value is not None})
    if job.comment == "set":
        word.set(job, WORD)
        number.set(job, 7)
        flag.set(job, True)
        maybe.set(job, True)
    elif job.comment == "unset":
        for option in OPTIONS:
            option.unset(job)
    elif job.comment == "value":
        write_down(hook="job_submit", value=word.value)


def seen(spank):
    """Append the values of all options."""
    values = {option.name: option.value for option in OPTIONS if option.given}
    fields = {"step": spank.step_name} if spank.context == "remote" else {}
    write_down(callback=spank.callback, values=values, **fields)


for callback in ("task_init", "job_prolog", "job_epilog"):
    getattr(hook.spank, callback)(seen)


@hook.spank.init_post_opt(contexts=["allocator"])
def forge(spank):
    """Send prolog and epilog another value, as a user's own client could."""
    if spank.env.get("FORGE"):
        spank.job_control_env["_SLURM_SPANK_OPTION_python_req_word"] = "forged"
