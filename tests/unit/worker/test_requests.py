# SPDX-License-Identifier: GPL-2.0-or-later
import socket

from slurmhooks.worker.requests import names


def test_names_of_strangers() -> None:
    """A socket of anybody's, whose name has line feeds in it, does not keep commands from finding the supervisor."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind("\0slurmhooks\n\nx\n 1 2 3\n")
        assert names("/no/such/folder") == []
