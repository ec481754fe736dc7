# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy that waits for a service, in workers and in job_submit/lua; and what workers cost slurmctld."""

import re
import statistics
from collections.abc import Iterator
from typing import cast

from .machine import FILES, BenchError, Machine
from .rows import Row, spread

GROUP = "waiting"
CLIENTS = 16
EACH = 40
"""Submissions of each client."""
TURNS = 4
WORKERS = 8
LIMIT = 4.0
REPLACED = 20.0
"""Milliseconds until a replaced worker serves."""
KILLS = 40
MEMORY = 0.5
"""MiB of slurmctld's memory beyond that without the plugin."""
POLICY = """\
import time
from slurmhooks import Reject, hook

@hook.job_submit
def ask(job):
    time.sleep(0.02)
    raise Reject("refused")
"""
# Scripts of sites start programs to ask a service; this one only sleeps.
SCRIPT = """\
function slurm_job_submit(job, partitions, uid) os.execute("sleep 0.02") return slurm.ERROR end
function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""
PLUGINS = ("lua", "python")
PASS = "from slurmhooks import hook\n\n@hook.job_submit\ndef ask(job): job.comment = 'x'\n"
PYTHON = "JobSubmitPlugins=python,require_timelimit\nSlurmctldDebug=error\n"
"""Handlers pass each request, and Slurm's own plugin refuses it."""


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.lab("put", str(FILES / "submit.c"), "/opt/submit.c")
    machine.root("gcc -O2 -o /opt/submit /opt/submit.c -lslurm")
    toml = machine.root("cat /etc/slurm/slurmhooks.toml")
    machine.put(f"{toml}\n[job_submit]\nworkers = {WORKERS}\n", "/etc/slurm/slurmhooks.toml")
    try:
        rates: dict[str, list[float]] = {plugin: [] for plugin in PLUGINS}
        for _ in range(TURNS):
            for plugin in PLUGINS:
                rates[plugin].append(rate(machine, plugin))
        ratio = [ours / theirs for theirs, ours in zip(rates["lua"], rates["python"], strict=True)]
        yield Row(
            GROUP,
            f"job_submit policy that waits 20 ms, {CLIENTS} clients, {WORKERS} workers: requests per second,"
            " relative to job_submit/lua",
            LIMIT,
            "x",
            statistics.median(ratio),
            at_least=True,
            parts={f"{plugin}, a second": spread(values) for plugin, values in rates.items()},
        )
    finally:
        machine.put(toml, "/etc/slurm/slurmhooks.toml")
    yield replaced(machine)
    yield memory(machine)


def replaced(machine: Machine) -> Row:
    """Return how much longer a submission takes after its worker was killed."""
    machine.site({"pass.py": PASS}, local=PYTHON, plugstack="")
    plain, killed = cast("list[list[float]]", machine.inside("replaced.py", str(KILLS), "/opt/submit", "1", "x"))
    more = spread([(time - statistics.median(plain)) * 1e3 for time in killed])
    parts = {"after a kill, ms more": more, "a submission, ms": spread([time * 1e3 for time in plain])}
    return Row(GROUP, "a replaced worker serves again after", REPLACED, "ms", more.median, parts=parts)


def rate(machine: Machine, plugin: str) -> float:
    """Return how many submissions slurmctld answers in a second."""
    machine.site({"ask.py": POLICY}, plugstack="")
    # slurmctld does not start if the script is missing.
    machine.put(SCRIPT, "/etc/slurm/job_submit.lua")
    machine.put(f"JobSubmitPlugins={plugin}\nSlurmctldDebug=error\n", "/etc/slurm/local.conf")
    machine.lab("restart")
    machine.user("/opt/submit 1 first")
    output = machine.user(
        f"begin=$(date +%s%N); for n in $(seq {CLIENTS}); do /opt/submit {EACH} x & done; wait;"
        " end=$(date +%s%N); echo $((end - begin)) ns"
    )
    nanoseconds = re.search(r"(\d+) ns", output)
    if output.count(f"0 taken, {EACH} refused") != CLIENTS or nanoseconds is None:
        raise BenchError(f"JobSubmitPlugins={plugin}: {output}")
    return CLIENTS * EACH / int(nanoseconds[1]) * 1e9


def memory(machine: Machine) -> Row:
    """Return how much more memory slurmctld uses with the plugin, after requests.

    slurmctld is restarted for each measurement.
    """
    resident: dict[str, list[float]] = {"require_timelimit": [], "python,require_timelimit": []}
    for _ in range(TURNS):
        for plugins, values in resident.items():
            machine.site({"pass.py": PASS}, local=f"JobSubmitPlugins={plugins}\nSlurmctldDebug=error\n", plugstack="")
            machine.user("/opt/submit 200 x")
            line = machine.root("grep VmRSS: /proc/$(cat /run/slurmctld.pid)/status")
            values.append(int(line.split()[1]) / 1024)
    without, with_plugin = resident.values()
    more = statistics.median(with_plugin) - statistics.median(without)
    parts = {f"JobSubmitPlugins={plugins}, MiB": spread(values) for plugins, values in resident.items()}
    return Row(GROUP, "slurmctld: resident memory added by the plugin", MEMORY, "MiB", more, parts=parts)
