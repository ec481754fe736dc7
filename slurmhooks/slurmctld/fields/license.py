# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a license."""

from __future__ import annotations

from functools import partial

from slurmhooks.slurmctld.number_rows import Plain, Time
from slurmhooks.slurmctld.rows import Text, Truth

_Text = partial(Text, writable=False)
_Time = partial(Time, writable=False)
_Plain = partial(Plain, writable=False)


class LicenseFields:
    """A license, ``slurm_license_info_t``; read-only."""

    __slots__ = ()

    available = _Plain(32, "How many are left: total without used, and without those lacking at the server.")
    last_consumed = _Plain(32, "How many the license server has given out, of a remote one.", since="23.02")
    last_deficit = _Plain(32, "How many the license server lacks, of a remote one.", since="23.02")
    last_update = _Time("When the license server was last asked, of a remote one; 0 for never.", since="23.02")
    name = _Text("Its name; that of a remote one is name@server.")
    remote = Truth("Whether it is accounting's, not slurm.conf's.", writable=False)
    reserved = _Plain(32, "How many reservations hold now.")
    total = _Plain(32, "How many there are.")
    used = _Plain(32, "How many jobs have.", member="in_use")
