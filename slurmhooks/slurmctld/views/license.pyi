# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tests/typing/stubs.py.

class LicenseFields:
    """A license, ``slurm_license_info_t``; read-only."""
    @property
    def available(self) -> int | None:
        """How many are left: total without used, and without those lacking at the server."""
    @property
    def last_consumed(self) -> int | None:
        """How many the license server has given out, of a remote one. Since Slurm 23.02."""
    @property
    def last_deficit(self) -> int | None:
        """How many the license server lacks, of a remote one. Since Slurm 23.02."""
    @property
    def last_update(self) -> int | None:
        """When the license server was last asked, of a remote one; 0 for never. In seconds since the epoch. Since Slurm 23.02."""
    @property
    def name(self) -> str | None:
        """Its name; that of a remote one is name@server."""
    @property
    def remote(self) -> bool | None:
        """Whether it is accounting's, not slurm.conf's."""
    @property
    def reserved(self) -> int | None:
        """How many reservations hold now."""
    @property
    def total(self) -> int | None:
        """How many there are."""
    @property
    def used(self) -> int | None:
        """How many jobs have."""
