# SPDX-License-Identifier: GPL-2.0-or-later
"""A generation, as the supervisor sees it.

A generation begins as a process of the supervisor's user. It may become another user before it runs code of the site,
and from then on the supervisor believes nothing that it says about other processes, files or settings: the kernel tells
which user has sent each message.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any

from slurmhooks.files.watch import LoadedHandler, Watch
from slurmhooks.log import log, visible
from slurmhooks.processes import control, descriptors, process
from slurmhooks.processes.last_file import LastFile
from slurmhooks.processes.settings import Settings
from slurmhooks.wire.protocol import Availability

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from slurmhooks.processes.control import Message

LONGEST = 4 << 20
"""Maximum bytes of a document about what was loaded."""
LONGEST_TEXT = 400
"""Maximum bytes of a text that users may read."""
MOST_FINDINGS = 1000
SPARE = 8
"""How many workers a generation may have beyond twice those that are configured, while it replaces them."""


class Child:
    """A generation.

    Attributes:
        pid: of its process; 0 if it has ended.
        connection: the socket for control messages.
        deadline: when it is to be killed; None if it may continue.
        settings: its settings; None until it has read the configuration.
        watch: what it has loaded.
        is_loaded: whether its hooks are loaded.
        workers: the workers that were handed to slurmctld, and that slurmctld has not released.
        last: the hook file that it has begun last.
        is_trial: it only finds out whether a set loads, and never goes into service.
    """

    def __init__(
        self, pid: int, connection: socket.socket, deadline: float | None, last: LastFile, is_trial: bool = False
    ) -> None:
        self.last = last
        self.is_trial = is_trial
        self.pid = pid
        self.connection = connection
        self.deadline = deadline
        self.settings: Settings | None = None
        self.watch: Watch | None = None
        self.is_loaded = False
        self.workers: set[int] = set()

    def send(self, message: Message) -> None:
        """Send a message, without waiting: a generation that does not read its messages is killed."""
        try:
            control.send(self.connection, message, socket.MSG_DONTWAIT)
        except BlockingIOError:
            log.error("a process that loads the hooks reads no messages; it is killed")
            if self.pid:
                process.kill(self.pid)
        except OSError:
            pass  # it has ended; the supervisor reads the end of file

    def configured(self, message: Message) -> Availability:
        """Take what the configuration says, which only the supervisor's user can tell.

        Returns:
            what it says about requests that nobody can serve from now on; UNKNOWN: it is from another user, or of a
            trial.

        Raises:
            ValueError: the message is invalid.
        """
        document = _document(message)
        if _is_ours(message):
            self.settings = Settings.read(document["settings"])
            self.watch = Watch.of(document["watch"])
        return Availability.UNKNOWN if self.is_trial else self.available

    @property
    def available(self) -> Availability:
        """What its configuration says about requests that nobody can serve; UNKNOWN: that is not known."""
        if self.settings is None:
            return Availability.UNKNOWN
        return Availability.ACCEPT if self.settings.accept else Availability.REJECT

    def loaded(self, message: Message) -> None:
        """Take what was loaded; the generation goes into service once its first worker is ready.

        Raises:
            ValueError: the message is invalid.
        """
        document = _document(message)
        if self.settings is None:
            raise ValueError("hooks without a configuration")
        self.watch = self._watch(message, document)
        self.is_loaded = True

    def failed(self, message: Message) -> tuple[str, list[str]]:
        """Take what could not be loaded; return a line for users, and the findings.

        Raises:
            ValueError: the message is invalid.
        """
        document = _document(message)
        findings = document.get("findings")
        if not isinstance(findings, list) or not findings or not all(isinstance(each, str) for each in findings):
            raise ValueError("no list of findings")
        self.watch = self._watch(message, document)
        line, *findings = findings[:MOST_FINDINGS]
        return text_for_users(line), findings

    def accepts_worker(self, message: Message) -> bool:
        """Tell whether a message hands over a worker: a child of this generation, with a channel and a status page."""
        if self.is_trial or self.settings is None or not self.is_loaded:
            return False
        if len(self.workers) > 2 * self.settings.section.workers + SPARE:
            return False
        fits = len(message.fds) == 2 and descriptors.is_stream(message.fds[0]) and descriptors.is_memory(message.fds[1])
        # The supervisor adopts the workers of a generation that has ended.
        return fits and message.pid > 1 and process.parent(message.pid) in (self.pid or -1, os.getpid())

    def _watch(self, message: Message, document: dict[str, Any]) -> Watch:
        """Return what a generation has loaded.

        What one of another user says about handlers is shown; the supervisor believes nothing else of it.
        """
        if _is_ours(message):
            return Watch.of(document["watch"])
        base = self.watch or Watch()
        claimed = document.get("watch")
        if not isinstance(claimed, dict):
            raise ValueError("nothing is said about handlers")
        return Watch(base.place, base.configuration, _handlers(claimed.get("handlers")))


def fork(main: Callable[[socket.socket, socket.socket, LastFile], NoReturn], is_trial: bool) -> Child:
    """Fork a generation: ``main`` runs in it, with the supervisor's socket, its own one, and the file that is loaded.

    Raises:
        OSError: there is no room for a process.
    """
    last = LastFile()
    pid, ours, theirs = process.fork()
    if not pid:
        process.end_after(lambda: main(ours, theirs, last))
    theirs.close()
    return Child(pid, ours, time.monotonic() + control.LOAD_LIMIT, last, is_trial)


def text_for_users(text: str) -> str:
    """Return a text of a generation in a form that users may read."""
    return visible(text, limit=LONGEST_TEXT)


def _is_ours(message: Message) -> bool:
    return message.user == os.getuid()


def _document(message: Message) -> dict[str, Any]:
    """Return the document that comes with a message.

    Raises:
        ValueError: there is none, or it is invalid.
    """
    if len(message.fds) != 1:
        raise ValueError("not one document")
    return descriptors.values(os.dup(message.fds[0]), LONGEST)


def _handlers(claimed: object) -> dict[str, list[LoadedHandler]]:
    """Return handlers, which are shown to administrators, as a generation has described them.

    Raises:
        ValueError: the description is invalid.
    """
    if not isinstance(claimed, dict):
        raise ValueError("no list of handlers")
    handlers = {}
    for name, loaded in claimed.items():
        if not isinstance(loaded, list):
            raise ValueError("no list of handlers")
        handlers[visible(name)] = [_handler(each) for each in loaded]
    return handlers


def _handler(claimed: object) -> LoadedHandler:
    fields = len(LoadedHandler._fields)
    if not isinstance(claimed, list) or len(claimed) != fields or not all(isinstance(each, str) for each in claimed):
        raise ValueError("a handler is not described")
    return LoadedHandler(*(visible(each) for each in claimed))
