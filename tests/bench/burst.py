# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast slurmctld takes a burst of sbatch with handlers, against the same without any plugin.

:func:`measure` is for tests/cluster/bench; ``python tests/bench/burst.py RELEASE [COUNT [PAIRS]]`` does it alone, in a
cluster that is up, with the hooks installed.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cluster.benchmarks.inside.interleave import turn

HERE = Path(__file__).resolve().parent
RUN = HERE.parent / "cluster" / "run"
COUNT = 2_000
CLIENTS = 4
PAIRS = 12
"""One burst takes up to a seventh more or less than another, with and without. A multiple of six, see turn()."""
LIMIT = 0.97
"""Of the rate without any plugin."""
LINES = "SlurmctldDebug=error\nMaxJobCount=50000\n"
SAME = "--comment=seen --time=60 --nodes=1 --partition=debug"
"""What policy.py writes: such jobs cost slurmctld more than others, whoever says it."""
CASES = {"none": ("", ""), "python": ("JobSubmitPlugins=python\n", ""), "same": ("", SAME)}
"""Of each its line of slurm.conf, and more options of sbatch."""
# Held, so that slurmctld does nothing but take them; timed inside, from the first sbatch to the end of the last.
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


class Lab(Protocol):
    """A verb of `tests/cluster/run` for one release, which must succeed; returns what it prints."""

    def __call__(self, verb: str, /, *arguments: str, stdin: str | None = None) -> str:
        """Run it."""


def measure(lab: Lab, count: int = COUNT, pairs: int = PAIRS) -> Iterator[tuple[str, float, float | None]]:
    """Yield the rows: what was measured, its value, and what it must be at least."""
    lab("exec", "--", "sh", "-c", "rm -rf /etc/slurm/hooks.d/*; : > /etc/slurm/plugstack.conf")
    lab("put", str(HERE / "policy.py"), "/etc/slurm/hooks.d/policy.py")
    names = list(CASES)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for pair in range(pairs):
        # In turns, and each comes first as often as the others: the machine is not as fast all the time.
        for name in turn(names, pair):
            seconds[name].append(burst(lab, name, count))
    rate = f"rate of {count:,} sbatch, against no plugin (median of {pairs} pairs)"
    floor = "the floor of that: no plugin, and options of sbatch that say what the policy writes"
    for what, name, limit in ((rate, "python", LIMIT), (floor, "same", None)):
        ratios = [before / after for before, after in zip(seconds["none"], seconds[name], strict=True)]
        yield what, statistics.median(ratios), limit


def burst(lab: Lab, case: str, count: int) -> float:
    """Submit, to a slurmctld without jobs; return the seconds.

    Raises:
        RuntimeError: a submission was refused.
    """
    plugins, options = CASES[case]
    lab("put", "-", "/etc/slurm/local.conf", stdin=LINES + plugins)
    lab("down")
    lab("up")
    script = BURST.replace("@CLIENTS@", str(CLIENTS)).replace("@EACH@", str(count // CLIENTS))
    said = lab("as", "alice", "--", "sh", "-c", script.replace("@OPTIONS@", options))
    if "refused" in said:
        raise RuntimeError(f"{said.count('refused')} of {count} submissions were refused")
    return int(said) / 1e9


def command(release: str) -> Lab:
    """Return the function that :func:`measure` takes, for the cluster that SLURMHOOKS_CLUSTER names."""

    def lab(verb: str, /, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [RUN, verb, release, *arguments], input=stdin, stdout=subprocess.PIPE, text=True, env=os.environ
        )
        if done.returncode:
            raise RuntimeError(f"run {verb} {release} {' '.join(arguments)}: exit {done.returncode}")
        return done.stdout

    return lab


if __name__ == "__main__":
    for what, value, limit in measure(command(sys.argv[1]), *map(int, sys.argv[2:])):
        sys.stdout.write(f"{what}: {value:.3f}" + (f", at least {limit}\n" if limit else "\n"))
