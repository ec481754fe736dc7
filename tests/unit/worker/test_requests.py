# SPDX-License-Identifier: GPL-2.0-or-later
import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from slurmhooks.worker import requests


def test_names_of_strangers() -> None:
    """Commands find the supervisor even if a user has a socket whose name contains line feeds."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind("\0slurmhooks\n\nx\n 1 2 3\n")
        assert requests.names("/no/such/folder") == []


def test_nobody_to_ask(tmp_path: Path) -> None:
    """Without a supervisor for a configuration there is no answer."""
    assert requests.ask("reload", str(tmp_path), 0, 1) == []


def bind(stack: ExitStack, name: str) -> socket.socket:
    """Return a socket that never accepts, as a user could create it; its queue is full after one connection."""
    bound = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    bound.bind(f"\0{name}")
    bound.listen(0)
    return bound


def test_sockets_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets of other users can neither hide the supervisor nor take its name."""
    if os.geteuid() != 0:
        pytest.skip("only root and SlurmUser may ask")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    monkeypatch.setattr(requests, "CONNECT", 0.05)
    start = requests.start_of_name(str(tmp_path))
    with ExitStack() as stack:
        bind(stack, f"{start}\n\n")
        names = [f"{start}{number:016x}" for number in range(3)]
        for name in names:
            bind(stack, name)
            stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)).connect(f"\0{name}")
        bind(stack, f"{start}{os.getpid()}")
        assert requests.names(str(tmp_path)) == names
        assert requests.ask("reload", str(tmp_path), 0, 1) == []
        supervisors = [requests.Requests(), requests.Requests()]
        assert len(requests.names(str(tmp_path))) == 5
        for supervisor in supervisors:
            for end in supervisor.sockets:
                end.close()


def test_a_supervisor_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only sockets of root and SlurmUser are asked."""
    monkeypatch.setattr(requests, "peer", lambda connection: 12345)
    with ExitStack() as stack:
        listening = bind(stack, f"{requests.start_of_name(str(tmp_path))}{0:016x}")
        assert requests.ask("reload", str(tmp_path), os.getuid(), 1) == []
        connection, _ = listening.accept()
        assert connection.recv(1) == b""
        connection.close()
