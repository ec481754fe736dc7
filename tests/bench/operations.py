# SPDX-License-Identifier: GPL-2.0-or-later
"""How many file operations a launch adds: thousands of nodes that share a file system feel each of them."""

import re
from collections import Counter
from collections.abc import Iterator

from . import sites
from .machine import Machine
from .rows import Row

GROUP = "operations"
ONE = "srun true, one task_init handler: file operations added outside /usr/lib, /proc and /sys"
LOCAL = re.compile(r"/(usr/lib|lib|lib64|proc|sys|dev|var|tmp)(/|$)")
"""Not on a file system that nodes share: of the image, of the kernel, or of this node."""
CALL = re.compile(r"^\d+ +\w+\(.*?\"((?:[^\"\\]|\\.)+)\"")
"""A call with a name; glibc before 2.39 calls fstat() of an open file newfstatat() with an empty one."""
TRACE = """
su alice -c 'cd; exec srun -Q true' </dev/null >/dev/null 2>&1  # daemons read /etc/hosts and the like once
pid=$(pgrep -xo slurmd)
setsid strace -qq -f -e trace=%file -o /tmp/daemon -p $pid </dev/null >/dev/null 2>&1 &
tracer=$!
until grep -q '^TracerPid:[[:space:]]*[1-9]' /proc/$pid/status; do sleep 0.05; done
su alice -c 'cd; exec strace -qq -f -e trace=%file -o /tmp/alice srun -Q true' </dev/null >/dev/null 2>&1
while squeue --noheader | grep -q .; do sleep 0.05; done
kill $tracer
while kill -0 $tracer 2>/dev/null; do sleep 0.05; done
cat /tmp/daemon /tmp/alice
rm -f /tmp/daemon /tmp/alice
"""


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.lab("add", "strace")
    cases = (
        (0, False, 46, ONE),
        (99, False, 46, "the same with 99 hook files of job_submit beside it"),
        (0, True, 22, "the same with one hook file and the lean plugin, so that no prolog and epilog load plugins"),
    )
    for count, lean, limit, what in cases:
        machine.choose(lean=lean)
        machine.site({"bench.py": sites.TASK} | {f"other{number}.py": sites.OTHER for number in range(count)})
        before = machine.root("cat /etc/slurm/plugstack.conf")
        with_it = operations(machine)
        machine.put("", "/etc/slurm/plugstack.conf")
        without = operations(machine)
        machine.put(before, "/etc/slurm/plugstack.conf")
        added = with_it - without
        note = ", ".join(f"{name} {count}" for name, count in added.most_common(40))
        yield Row(GROUP, what, limit, "", float(added.total()), note=note)
    machine.choose(lean=False)


def operations(machine: Machine) -> Counter[str]:
    """Return the names that srun and the node look at in a launch; a name may be relative to an open folder."""
    calls = map(CALL.match, machine.root(TRACE).splitlines())
    return Counter(call.group(1) for call in calls if call is not None and not LOCAL.match(call.group(1)))
