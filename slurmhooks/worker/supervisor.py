# SPDX-License-Identifier: GPL-2.0-or-later
"""The process between slurmctld and the generations. It runs no code of a site, and waits only for events."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from slurmhooks.collector import reporting
from slurmhooks.collector.collector import Collector
from slurmhooks.files.watch import Watch
from slurmhooks.hooks.points import HANDED_OVER
from slurmhooks.log import log
from slurmhooks.processes import control, descriptors, process
from slurmhooks.processes.control import Message
from slurmhooks.processes.deliverer import Watchdog
from slurmhooks.site.reload import STAYS, report_change
from slurmhooks.wire.protocol import Availability, Control
from slurmhooks.worker import accepted, ending, generation, interface, periodic, read_notices, status
from slurmhooks.worker.attempts import ACCIDENTS, Attempts
from slurmhooks.worker.child import Child, fork, text_for_users
from slurmhooks.worker.claims import Claims
from slurmhooks.worker.commands import PREPARE, QUESTIONS, SERVE, Command, Commands

if TYPE_CHECKING:
    from slurmhooks.processes.last_file import LastFile

DROPPED = "what the process that loads the hooks has sent is lost: the supervisor has no descriptor for it"
GRACE = 2.0
"""Seconds in which workers clean up when slurmctld ends; a replaced generation has them besides those of a request."""


class Supervisor:
    """The event loop; see the module."""

    def __init__(self, client: socket.socket, entry: str, misfit: str | None) -> None:
        """Prepare to serve.

        ``entry`` is the ``module:function`` that loads the hooks. ``misfit`` is why these modules must not serve this
        slurmctld; None: nothing keeps them.
        """
        self._client = client
        self._entry = entry
        self._misfit = misfit
        self._available = Availability.UNKNOWN
        self._parent = os.getppid()
        self._children: dict[int, Child] = {}
        self._number = 0
        self._loading: int | None = None
        self._serving: int | None = None
        self._good: Watch | None = None
        self._orphans = ending.Orphans()
        self._commands = Commands()
        self._collector = Collector()
        self._watchdogs = [Watchdog(point) for point in (*HANDED_OVER, "burst_buffer")]  # the last one has only a log
        self._claims = Claims()
        periodic.state = periodic.SharedState()
        read_notices.shared = read_notices.ReadNotices()
        accepted.shared = accepted.Accepted()
        reporting.reporter = self._collector.reporter
        self._wake, self._wakes = socket.socketpair()
        for end in (self._wake, self._wakes):
            end.setblocking(False)
        self._attempts = Attempts(lambda: self._wakes.send(b"."))

    def run(self) -> None:
        """Serve until slurmctld ends."""
        process.adopt_orphans()
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        # A service manager sends these signals to all processes at once, but slurmctld needs the supervisor until it
        # has ended.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        self._load()
        while self._turn():
            self._tend()
        self._end()

    def _turn(self) -> bool:
        """Wait for events, at most until the next look at the set in force; tell whether slurmctld is still running."""
        poller = select.poll()
        connections = (child.connection for child in self._children.values())
        for source in (self._client, self._wake, *self._commands.sockets, *self._claims.sockets, *connections):
            poller.register(source, select.POLLIN)
        ready = {fd for fd, _ in poller.poll(self._attempts.wait() * 1000 + 1)}
        # Not only the socket: a process that slurmctld has forked may keep it open.
        if os.getppid() != self._parent:
            return False
        if self._client.fileno() in ready and not self._from_client():
            return False
        if self._wake.fileno() in ready:
            self._wake.recv(4096)
        for number, child in list(self._children.items()):
            if child.connection.fileno() in ready:
                self._from_generation(number, child)
        self._claims.ready(ready)
        for command in self._commands.ready(ready):
            self._on_command(command)
        self._reap()
        return True

    def _to_client(self, message: Message) -> None:
        with suppress(OSError):  # if slurmctld is gone, the next turn notices
            control.send(self._client, message)

    # Generations

    def _load(self) -> None:
        self._number += 1
        self._loading = self._number
        self._commands.loading(self._number)
        if (failed := self._fork()) is not None:
            self._accident(self._number, failed)

    def _try(self, command: Command) -> None:
        """Start a generation that finds out whether a set loads."""
        self._number += 1
        command.generation = self._number
        if (failed := self._fork(command.text.removeprefix(PREPARE))) is not None:
            self._commands.failed(self._number, [failed])

    def _fork(self, chosen: str | None = None) -> str | None:
        """Fork a generation; return why that failed. For ``chosen`` see slurmhooks.worker.generation.main()."""
        number, me = self._number, os.getpid()

        def main(ours: socket.socket, theirs: socket.socket, last: LastFile) -> NoReturn:
            self._leave(ours)
            self._collector.close()
            last.follow()
            generation.main(number, theirs, self._entry, me, self._misfit, chosen)

        try:
            self._children[number] = fork(main, chosen is not None)
        except OSError as error:
            text = f"no process can be started that loads the hooks: {error.strerror}"
            log.error("%s", text)
            return text
        return None

    def _leave(self, *ours: socket.socket) -> None:
        """Close, in a forked child, everything that belongs to the supervisor."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        for end in (*ours, self._client, self._wake, self._wakes, *(c.connection for c in self._children.values())):
            end.close()
        self._commands.close()
        self._claims.close()

    def _from_generation(self, number: int, child: Child) -> None:
        """Handle one message of a generation, which may be hostile: see child.py."""
        message = control.receive(child.connection)
        if message is None:
            child.connection.close()
            del self._children[number]
            if child.pid:
                process.kill(child.pid)
                self._orphans.add(child.pid, child.workers)
            else:
                self._orphans.kill(child.workers, self._own())
            self._lost(number, child)
            return
        try:
            if message.kind in (Control.CONFIGURED, Control.LOADED, Control.FAILED) and not message.fds:
                child.deadline = 0.0
                log.error("%s", DROPPED)
                self._accident(number, DROPPED)
            elif not self._on_message(number, child, message._replace(generation=number)):
                raise ValueError(f"kind {message.kind}")
        except (ValueError, KeyError, TypeError) as error:
            text = text_for_users(str(error))
            log.error("generation %d has sent an invalid message, and is killed: %s", number, text)
            if child.pid:
                process.kill(child.pid)
        finally:
            descriptors.discard(message.fds)

    def _on_message(self, number: int, child: Child, message: Message) -> bool:
        """Handle one message; tell whether it was valid.

        Raises:
            ValueError, KeyError, TypeError: it was not.
        """
        if message.kind == Control.CONFIGURED:
            self._available = child.configured(message) or self._available
        elif message.kind == Control.LOADED:
            child.loaded(message)
            if child.is_trial:
                self._commands.loaded(number)
                return True
            assert child.settings is not None
            self._attempts.watch = child.watch
        elif message.kind == Control.FAILED:
            line, findings = child.failed(message)
            if child.is_trial:
                self._commands.failed(number, findings or [line])
                return True
            self._attempts.invalid(child.watch)
            self._refuse(number, line, findings)
        elif message.kind == Control.WORKER:
            if not child.accepts_worker(message):
                return False
            child.workers.add(message.pid)
            self._to_client(message)
            if number == self._loading:
                self._into_service(number, child)
        elif message.kind == Control.OBSERVER:
            if child.is_trial or len(message.fds) != 1 or not descriptors.is_stream(message.fds[0]):
                return False
            self._to_client(message)
        elif message.kind == Control.CLAIMS and not child.is_trial:
            self._claims.connect(number, message.fds)
        elif message.kind == Control.DIED:
            if message.pid in child.workers:
                child.workers.discard(message.pid)
                self._collector.worker_ended(message.value)
                self._to_client(message)
        elif message.kind == Control.UNAVAILABLE:
            text = text_for_users(message.text)
            if number == self._loading:
                child.deadline = 0.0
                self._accident(number, text)
            elif number == self._serving and message.value >= ACCIDENTS:
                self._to_client(message._replace(pid=child.available, text=text))
        else:
            return False
        return True

    def _refuse(self, number: int, line: str, findings: list[str]) -> None:
        """Give up a generation that was to go into service; ``line`` is for users if no generation is in service."""
        if number == self._loading:
            self._loading = None
            self._attempts.failed(findings or [line])
            self._collector.refused()
            if self._serving is not None:
                log.error("%s", STAYS)
            elif not self._attempts.may_succeed():
                self._to_client(Message(Control.UNAVAILABLE, number, self._available, text=line))
            self._commands.failed(number, findings or [line])

    def _accident(self, number: int, text: str) -> None:
        """Handle a generation that ended before it went into service, or whose worker did; its files are valid."""
        self._attempts.accident(self._serving is not None)
        text = f"{text}: see slurmctld's log"
        self._refuse(number, text, [text])

    def _into_service(self, number: int, child: Child) -> None:
        """Put a generation into service, and let the previous one finish."""
        assert child.settings is not None
        assert child.watch is not None
        child.deadline = None
        settings, before = child.settings, self._serving
        self._serving, self._loading = number, None
        self._attempts.succeeded()
        if self._good is not None and self._good.plain() != child.watch.plain():
            report_change(self._good.handlers, child.watch.handlers)
        self._good = child.watch
        timeout = max(1, round(settings.section.timeout * 1000))
        self._to_client(Message(Control.SERVING, number, int(settings.accept), timeout))
        self._collector.serve(number, settings)
        if before is not None and before in self._children:
            old = self._children[before]
            old.send(Message(Control.FINISH, before))
            old.deadline = time.monotonic() + GRACE + (old.settings or settings).section.timeout
        self._misfit = self._misfit or interface.complete(self._entry, settings)

    def _lost(self, number: int, child: Child) -> None:
        """Handle a generation that has ended, for whatever reason."""
        for pid in child.workers:
            self._to_client(Message(Control.DIED, number, pid, signal.SIGKILL))
        text = f"the process that loads the hooks ended unexpectedly{child.last}"
        if child.is_trial:
            self._commands.failed(number, [text])
        elif number == self._loading:
            log.error("%s", text)
            self._accident(number, text)
        elif number == self._serving:
            log.error("the process that forks workers ended unexpectedly; starting another one")
            self._serving = None
            self._attempts.soon()

    def _own(self) -> set[int]:
        return {*self._helpers(), *(child.pid for child in self._children.values())}

    def _helpers(self) -> set[int]:
        return {self._collector.pid, *(watchdog.pid for watchdog in self._watchdogs)}

    def _reap(self) -> None:
        """Reap every child that has ended, including programs of handlers that outlived their worker."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_code == os.CLD_STOPPED:
                os.waitid(os.P_PID, ended.si_pid, os.WSTOPPED | os.WNOHANG)
                self._stopped(ended.si_pid)
                continue
            self._orphans.before_reaping(ended.si_pid)
            pid, status = os.waitpid(ended.si_pid, 0)
            self._orphans.reaped(pid, self._own())
            if self._collector.ended(pid, status):
                continue
            for number, child in list(self._children.items()):
                if child.pid == pid:
                    child.pid = 0
                    # A process that a hook file has forked may keep the other end open.
                    with suppress(OSError):
                        child.connection.shutdown(socket.SHUT_RDWR)
                    # Its last messages are still to be read, then the end of file.
                    if status and number in (self._loading, self._serving):
                        log.error("generation %d %s", number, process.describe(status))

    def _stopped(self, pid: int) -> None:
        """Kill a generation that was stopped: its own workers may do that, and would then not be replaced any more."""
        for number, child in self._children.items():
            if child.pid == pid:
                log.error("generation %d was stopped by a signal, and is killed", number)
                process.kill(pid)

    # Time

    def _tend(self) -> None:
        """Load a set that has come into force, and kill generations that take too long."""
        now = time.monotonic()
        self._collector.tend(self._leave)
        for watchdog in self._watchdogs:
            watchdog.check()
        for number, child in self._children.items():
            if child.deadline is not None and now > child.deadline:
                if number == self._loading:
                    log.error("loading the hooks took more than %g s%s", control.LOAD_LIMIT, child.last)
                if child.pid:
                    process.kill(child.pid)
                child.deadline = None
        if self._loading is not None:
            return
        if self._collector.is_renewed:
            reporting.reporter, self._collector.is_renewed = self._collector.reporter, False
            self._attempts.soon()
        if self._commands.waiting or self._attempts.are_due():
            self._attempts.began()
            self._load()

    # Others

    def _from_client(self) -> bool:
        """Handle one message of slurmctld; tell whether slurmctld is still running."""
        message = control.receive(self._client)
        if message is None:
            return False
        if message.kind == Control.ACKNOWLEDGED:
            self._commands.served(message.generation)
        elif message.kind in (Control.KILL, Control.RELEASED) and message.generation in self._children:
            child = self._children[message.generation]
            if message.kind == Control.RELEASED:
                child.workers.discard(message.pid)
            child.send(message)
        elif message.kind == Control.UNSERVED:
            self._collector.unserved(message)
        return True

    def _on_command(self, command: Command) -> None:
        """Handle what a command has asked for."""
        if command.text == "status":
            point, troubles = interface.point(self._entry), (self._claims.trouble, self._collector.trouble)
            known = status.of(point, self._serving, self._children, self._attempts.fault, *troubles)
            self._commands.answer(command, known)
        elif command.text == QUESTIONS and interface.point(self._entry) == "job_submit":
            self._commands.give(command, self._pass_channel)
        elif command.text.startswith(PREPARE):
            self._try(command)
        elif command.text != SERVE:
            self._commands.answer(command, self._collector.request(command.text, interface.point(self._entry)))

    def _pass_channel(self, end: socket.socket) -> None:
        """Let slurmctld answer questions on a channel."""
        self._to_client(Message(Control.OBSERVER, self._serving or 0, 0, fds=(end.fileno(),)))

    def _end(self) -> None:
        """End all child processes: first let workers end normally, because they see that their channels are closed."""
        self._client.close()
        for number, child in self._children.items():
            child.send(Message(Control.FINISH, number, value=1))
        ending.wait(self._children.values(), GRACE, self._wake, self._reap)
        ending.kill(self._helpers(), self._reap)
        self._collector.finish()
