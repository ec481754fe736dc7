# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a license."""

from __future__ import annotations

from functools import partial

from slurmhooks.fields.number_rows import Plain, Time
from slurmhooks.fields.rows import Text, Truth

_Text = partial(Text, writable=False)
_Time = partial(Time, writable=False)
_Plain = partial(Plain, writable=False)


class LicenseFields:
    """A license, ``slurm_license_info_t``; read-only."""

    __slots__ = ()

    available = _Plain(32, "Number available: total minus used, minus those that the server lacks.")
    last_consumed = _Plain(32, "Number that the license server has given out, for a remote one.", since="23.02")
    last_deficit = _Plain(32, "Number that the license server lacks, for a remote one.", since="23.02")
    last_update = _Time("When the license server was last asked, for a remote one; 0: never.", since="23.02")
    name = _Text("Its name; name@server for a remote one.")
    remote = Truth("Whether it comes from accounting instead of slurm.conf.", writable=False)
    reserved = _Plain(32, "Number that reservations hold now.")
    total = _Plain(32, "Total number.")
    used = _Plain(32, "Number that jobs use.", member="in_use")
