# SPDX-License-Identifier: GPL-2.0-or-later
# Written by tools/stubs.py.

class LicenseFields:
    """A license, ``slurm_license_info_t``; read-only."""
    @property
    def available(self) -> int | None:
        """Number available: total minus used, minus those that the server lacks."""
    @property
    def last_consumed(self) -> int | None:
        """Number that the license server has given out, for a remote one. Since Slurm 23.02."""
    @property
    def last_deficit(self) -> int | None:
        """Number that the license server lacks, for a remote one. Since Slurm 23.02."""
    @property
    def last_update(self) -> int | None:
        """When the license server was last asked, for a remote one; 0: never. In seconds since the epoch. Since Slurm 23.02."""
    @property
    def name(self) -> str | None:
        """Its name; name@server for a remote one."""
    @property
    def remote(self) -> bool | None:
        """Whether it comes from accounting instead of slurm.conf."""
    @property
    def reserved(self) -> int | None:
        """Number that reservations hold now."""
    @property
    def total(self) -> int | None:
        """Total number."""
    @property
    def used(self) -> int | None:
        """Number that jobs use."""
