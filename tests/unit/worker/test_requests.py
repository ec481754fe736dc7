# SPDX-License-Identifier: GPL-2.0-or-later
import socket

from slurmhooks.worker.requests import names


def test_names_of_strangers() -> None:
    """Commands find the supervisor even if a user has a socket whose name contains line feeds."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind("\0slurmhooks\n\nx\n 1 2 3\n")
        assert names("/no/such/folder") == []
