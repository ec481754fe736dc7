# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld under many submissions: how fast it takes a burst, and what they leave in its memory."""

from collections.abc import Iterator

from tests.bench import burst, memory

from .machine import Machine
from .rows import Row

GROUP = "controller"


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.site({})
    for what, ratio, limit in burst.measure(machine.lab):
        yield Row(GROUP, what, limit, "x", ratio, at_least=True)
    for what, more, most in memory.measure(machine.lab):
        yield Row(GROUP, what, most, "MiB", more)
