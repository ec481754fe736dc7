# SPDX-License-Identifier: GPL-2.0-or-later
import errno
import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from slurmhooks.processes import descriptors
from slurmhooks.worker import commands
from tests.native.workers import PATIENCE


def test_names_of_strangers() -> None:
    """Commands find the supervisor even if a user has a socket whose name contains line feeds."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind("\0slurmhooks\n\nx\n 1 2 3\n")
        assert commands.names("/no/such/folder") == []


def test_nobody_to_ask(tmp_path: Path) -> None:
    """Without a supervisor for a configuration there is no answer."""
    assert commands.ask(commands.SERVE, str(tmp_path), 0, 1) == []


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
    monkeypatch.setattr(commands, "CONNECT", 0.05)
    start = commands.start_of_name(str(tmp_path))
    with ExitStack() as stack:
        bind(stack, f"{start}\n\n")
        names = [f"{start}{number:016x}" for number in range(3)]
        for name in names:
            bind(stack, name)
            stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)).connect(f"\0{name}")
        bind(stack, f"{start}{os.getpid()}")
        assert commands.names(str(tmp_path)) == names
        assert commands.ask(commands.SERVE, str(tmp_path), 0, 1) == []
        assert not commands.is_served(str(tmp_path), 0)
        supervisors = [commands.Commands(), commands.Commands()]
        assert len(commands.names(str(tmp_path))) == 5
        for supervisor in supervisors:
            for end in supervisor.sockets:
                end.close()


def test_a_supervisor_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only sockets of root and SlurmUser are asked."""
    monkeypatch.setattr(commands, "peer", lambda connection: 12345)
    with ExitStack() as stack:
        listening = bind(stack, f"{commands.start_of_name(str(tmp_path))}{0:016x}")
        assert commands.ask(commands.SERVE, str(tmp_path), os.getuid(), 1) == []
        assert not commands.is_served(str(tmp_path), os.getuid())
        connection, _ = listening.accept()
        assert connection.recv(1) == b""
        connection.close()


def end(served: commands.Commands, asked: commands.Command) -> None:
    """Take the place of a supervisor that ends."""
    served.close()


def without_descriptors(served: commands.Commands, asked: commands.Command) -> None:
    """Answer where no descriptor is free."""

    def full(content: dict[str, object]) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descriptors, "document", full)
        served.answer(asked, {})


def serve_another(served: commands.Commands, asked: commands.Command) -> None:
    """Serve what was being loaded when the command came, and then what is loaded after that."""
    served.served(1)
    served.loading(2)
    served.served(2)


@pytest.mark.parametrize(
    ("request_", "act", "answer"),
    [
        (f"{commands.PREPARE}0123456789abcdef", end, {"findings": [commands.SILENT]}),
        (f"{commands.PREPARE}0123456789abcdef", without_descriptors, {"findings": [commands.SILENT]}),
        (commands.SERVE, serve_another, {"generation": 2}),
    ],
)
def test_what_a_command_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request_: str,
    act: Callable[[commands.Commands, commands.Command], None],
    answer: dict[str, object],
) -> None:
    """What a supervisor says nothing about is not accepted by it; what serves began to load after the command."""
    (tmp_path / "slurm.conf").write_text("")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    served = commands.Commands()
    assert commands.is_served(str(tmp_path), os.getuid())

    def serve() -> None:
        asked: list[commands.Command] = []
        while not asked:
            ready, _, _ = select.select(served.sockets, [], [])
            asked = served.ready({each.fileno() for each in ready})
        act(served, asked[0])

    thread = threading.Thread(target=serve)
    thread.start()
    answers = commands.ask(request_, str(tmp_path), os.getuid(), PATIENCE)
    thread.join()
    served.close()
    assert answers == [answer]
