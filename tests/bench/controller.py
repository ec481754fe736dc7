# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld under many submissions: the rate at which it takes a burst, and the memory that stays in use.

And the time of a reconfiguration.
"""

from collections.abc import Iterator

from . import burst, memory, reconfigure
from .machine import Machine
from .rows import Row

GROUP = "controller"


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    machine.site({}, plugstack="")
    yield from burst.measure(machine.lab)
    yield from memory.measure(machine.lab)
    yield from reconfigure.measure(machine)
