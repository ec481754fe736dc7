# SPDX-License-Identifier: GPL-2.0-or-later
"""The rate at which slurmctld takes a burst of sbatch with handlers, compared with the rate without a plugin."""

import statistics
from collections.abc import Iterator

from .inside.interleave import turn
from .machine import FILES, Lab
from .rows import Row

GROUP = "controller"
COUNT = 2_000
CLIENTS = 4
PAIRS = 12
"""Bursts differ by up to a seventh, with and without a plugin. A multiple of six, see turn()."""
LIMIT = 0.97
"""As a fraction of the rate without a plugin."""
LINES = "SlurmctldDebug=error\nMaxJobCount=50000\n"
SAME = "--comment=seen --time=60 --nodes=1 --partition=debug"
"""The values that policy.py writes: slurmctld needs more time for such jobs, whoever sets the values."""
CASES = {"none": ("", ""), "python": ("JobSubmitPlugins=python\n", ""), "same": ("", SAME)}
"""The line of slurm.conf and additional options of sbatch, for each case."""
# The jobs are held, so that slurmctld only accepts them. Timed in the cluster, from the first sbatch to the end of the
# last.
BURST = """\
one() { for number in $(seq $1); do
    sbatch @OPTIONS@ --account=physics --hold --output=/dev/null --wrap=true >/dev/null 2>&1 || echo refused
done; }
begin=$(date +%s%N)
for client in $(seq @CLIENTS@); do one @EACH@ & done
wait
end=$(date +%s%N)
echo $((end - begin))
"""


def measure(lab: Lab) -> Iterator[Row]:
    """Measure the rows about bursts, in a cluster that is up and has slurmhooks installed."""
    lab("exec", "--", "sh", "-c", "rm -rf /etc/slurm/hooks.d/*; : > /etc/slurm/plugstack.conf")
    lab("put", str(FILES / "policy.py"), "/etc/slurm/hooks.d/policy.py")
    lab("put", "-", "/etc/slurm/local.conf", stdin="JobSubmitPlugins=python\n")
    lab("exec", "--", "slurmhooks", "deploy")
    names = list(CASES)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for pair in range(PAIRS):
        # In turns, and each case is first equally often, because the speed of the machine varies.
        for name in turn(names, pair):
            seconds[name].append(burst(lab, name))
    rate = f"{COUNT:,} sbatch commands: rate relative to no plugin (median of {PAIRS} pairs)"
    floor = "the same without a plugin, and with sbatch options for all that the policy writes"
    for what, name, limit in ((rate, "python", LIMIT), (floor, "same", None)):
        ratios = [before / after for before, after in zip(seconds["none"], seconds[name], strict=True)]
        yield Row(GROUP, what, limit, "x", statistics.median(ratios), at_least=True)


def burst(lab: Lab, case: str) -> float:
    """Submit to a slurmctld without jobs; return the seconds.

    Raises:
        RuntimeError: a submission was refused.
    """
    plugins, options = CASES[case]
    lab("put", "-", "/etc/slurm/local.conf", stdin=LINES + plugins)
    lab("down")
    lab("up")
    script = BURST.replace("@CLIENTS@", str(CLIENTS)).replace("@EACH@", str(COUNT // CLIENTS))
    output = lab("as", "alice", "--", "sh", "-c", script.replace("@OPTIONS@", options))
    if "refused" in output:
        raise RuntimeError(f"{output.count('refused')} of {COUNT} submissions were refused")
    return int(output) / 1e9
