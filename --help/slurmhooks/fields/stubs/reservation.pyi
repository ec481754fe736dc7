# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.
from slurmhooks.fields.constants import ReservationFlag
from slurmhooks.values import Unlimited

class ReservationFields:
    """A reservation, ``slurmctld_resv_t``; read-only."""
    @property
    def accounts(self) -> str | None:
        """Accounts that may use the reservation; with '-' in front: may not."""
    @property
    def assoc_list(self) -> str | None:
        """Associations that may use the reservation, as ids."""
    @property
    def burst_buffer(self) -> str | None:
        """Reserved burst buffers."""
    @property
    def comment(self) -> str | None:
        """Comment. Since Slurm 23.02."""
    @property
    def duration(self) -> int | Unlimited | None:
        """Duration. In minutes."""
    @property
    def end_time(self) -> int | None:
        """End. In seconds since the epoch."""
    @property
    def features(self) -> str | None:
        """Features of the nodes."""
    @property
    def flags(self) -> ReservationFlag | None:
        """Properties of the reservation."""
    @property
    def flags_set_node(self) -> bool | None:
        """Whether the nodes are marked as reserved now."""
    @property
    def full_nodes(self) -> bool | None:
        """Whether whole nodes are reserved."""
    @property
    def groups(self) -> str | None:
        """Groups that may use the reservation."""
    @property
    def licenses(self) -> str | None:
        """Reserved licenses."""
    @property
    def name(self) -> str | None:
        """Name of the reservation."""
    @property
    def node_cnt(self) -> int | None:
        """Number of nodes."""
    @property
    def node_list(self) -> str | None:
        """Nodes, as a node list."""
    @property
    def partition(self) -> str | None:
        """Partition."""
    @property
    def start_time(self) -> int | None:
        """Start. In seconds since the epoch."""
    @property
    def tres_fmt_str(self) -> str | None:
        """Reserved TRES, as name=count."""
    @property
    def users(self) -> str | None:
        """Users who may use the reservation; with '-' in front: may not."""
