# SPDX-License-Identifier: GPL-2.0-or-later
"""One generation: loads a set of hook files once and forks workers from that state."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from slurmhooks.collector import reporting
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home
from slurmhooks.files.watch import Watch
from slurmhooks.handlers import dispatch, trace
from slurmhooks.log import log
from slurmhooks.processes import control, descriptors, process
from slurmhooks.processes.backoff import Backoff
from slurmhooks.processes.control import Message
from slurmhooks.recording import page as shared
from slurmhooks.wire.protocol import STATUS_PAGE, Control
from slurmhooks.worker import interface, worker
from slurmhooks.worker.channel import HEADER, end_timer
from slurmhooks.worker.observer import Observer
from slurmhooks.worker.periodic import Periodic

if TYPE_CHECKING:
    from slurmhooks.processes.settings import Settings
    from slurmhooks.worker.interface import Service

LOOK = 1.0
"""Maximum seconds without an event before the generation looks at its processes."""


class Generation:
    """The process that loaded hook files; single threaded, unless the hook files started threads."""

    def __init__(self, number: int, supervisor: socket.socket, loaded: Service) -> None:
        self._number = number
        self._supervisor = supervisor
        self._service = loaded
        self._starting: dict[int, tuple[socket.socket, int]] = {}
        self._serving: set[int] = set()
        self._leaving: set[int] = set()  # workers that slurmctld no longer uses; most are being killed
        self._zombies: set[int] = set()  # workers that have ended, which slurmctld does not know yet
        self._closed: set[int] = set()  # zombies that ended normally: slurmctld may be about to end, too
        self._finishing = False
        self._backoff = Backoff()  # for workers that end before they can serve
        self._wake, wakes = socket.socketpair()
        for end in (self._wake, wakes):
            end.setblocking(False)
        self._wakes = wakes
        self._companions: list[Observer | Periodic] = []
        if loaded.observes:
            self._companions.append(Observer(loaded, number, supervisor))
        if loaded.repeats:
            self._companions.append(Periodic(loaded, number, supervisor))
        # Hook files may have installed a handler for SIGCHLD, which workers get back.
        self._on_child = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)

    def run(self) -> None:
        """Keep as many workers running as the configuration asks for, until told to finish."""
        while not self._finishing or self._starting or self._serving or self._leaving or self._has_companion:
            for each in self._companions:
                each.tend(partial(self._leave, each))
            while self._lacks_worker():
                self._fork()
            poller = select.poll()
            for fd in (self._supervisor, self._wake, *(channel for channel, _ in self._starting.values())):
                poller.register(fd, select.POLLIN)
            events = {fd for fd, _ in poller.poll(self._wait() * 1000 + 1)}
            if self._wake.fileno() in events:
                self._wake.recv(4096)
            if self._supervisor.fileno() in events:
                self._listen()
            for pid, (channel, _) in list(self._starting.items()):
                if channel.fileno() in events:
                    self._started(pid)
            self._reap()

    def _lacks_worker(self) -> bool:
        if self._finishing or not self._backoff.is_over:
            return False
        return len(self._starting) + len(self._serving) + len(self._closed) < self._service.settings.section.workers

    @property
    def _has_companion(self) -> bool:
        return any(each.running for each in self._companions)

    def _wait(self) -> float:
        """Return the maximum number of seconds to wait for an event."""
        return min([LOOK, *(each.wait(LOOK) for each in self._companions)])

    def _leave(self, own: Observer | Periodic | None = None) -> None:
        """Close, in a forked child, what belongs to the generation, and to companions but ``own``."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._on_child or signal.SIG_DFL)
        for end in (self._supervisor, self._wake, self._wakes, *(each for each, _ in self._starting.values())):
            end.close()
        for _, other in self._starting.values():
            os.close(other)
        for each in self._companions:
            if each is not own:
                each.forked()

    def _fork(self) -> None:
        me, page = os.getpid(), -1
        try:
            page = os.memfd_create("slurmhooks", os.MFD_CLOEXEC)
            os.ftruncate(page, STATUS_PAGE)
            pid, ours, theirs = process.fork(socket.SOCK_STREAM)
        except OSError as error:
            if page >= 0:
                os.close(page)
            self._failed(0, f"no worker can be started: {error.strerror}")
            return
        if not pid:
            self._leave()
            ours.close()
            worker.main(self._service, theirs, page, me)
        theirs.close()
        self._starting[pid] = (ours, page)

    def _started(self, pid: int) -> None:
        """Hand a worker to slurmctld, if it is ready."""
        channel, page = self._starting[pid]
        try:
            ready = len(channel.recv(HEADER.size)) == HEADER.size
        except ConnectionError:
            ready = False
        if not ready:
            process.kill(pid)  # _reap() treats it as a failure
            return
        del self._starting[pid]
        self._backoff.succeeded()
        self._serving.add(pid)
        control.send(self._supervisor, Message(Control.WORKER, self._number, pid, fds=(channel.fileno(), page)))
        channel.close()
        os.close(page)

    def _listen(self) -> None:
        message = control.receive(self._supervisor)
        if message is None or message.kind == Control.FINISH:
            self._finishing = True
            for each in self._companions:
                each.finish(at_once=message is None or message.value == 1)
            for pid, (channel, page) in self._starting.items():
                process.kill(pid, group=True)
                channel.close()
                os.close(page)
                os.waitpid(pid, 0)
            self._starting.clear()
            if message is None:
                os._exit(1)
        elif message.kind == Control.KILL:
            if message.pid in self._serving | self._zombies | self._leaving:  # it has not been reaped
                process.kill(message.pid, group=True)
        elif message.kind == Control.RELEASED:
            self._release(message.pid)
            if message.value:
                self._failed(message.pid, "slurmctld has no descriptors or no memory for another worker")

    def _release(self, pid: int) -> None:
        """Replace a worker at once: a killed worker with much memory takes long to end."""
        if pid in self._zombies:
            self._zombies.remove(pid)
            self._closed.discard(pid)
            os.waitpid(pid, 0)
        elif pid in self._serving:
            self._serving.remove(pid)
            self._leaving.add(pid)

    def _reap(self) -> None:
        """Handle workers that have ended; they stay zombies until slurmctld no longer uses their process ids."""
        for pid in [*self._starting, *self._serving, *self._leaving]:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            process.kill(pid, group=True)  # also the programs that it started
            if pid in self._serving:
                self._serving.remove(pid)
                self._zombies.add(pid)
                status = _status(pid)
                if not status:
                    self._closed.add(pid)
                control.send(self._supervisor, Message(Control.DIED, self._number, pid, status))
                continue
            _, status = os.waitpid(pid, 0)
            self._leaving.discard(pid)
            if pid in self._starting:
                self._not_started(pid, process.describe(status))

    def _not_started(self, pid: int, how: str) -> None:
        channel, page = self._starting.pop(pid)
        channel.close()
        os.close(page)
        self._failed(pid, f"a worker {how} before it could serve")

    def _failed(self, pid: int, text: str) -> None:
        """Report that a worker could not be started, and wait before the next attempt: the cause may persist."""
        self._backoff.failed()
        log.error("%s", text)
        control.send(self._supervisor, Message(Control.UNAVAILABLE, self._number, pid, self._backoff.failures, text))


def _status(pid: int) -> int:
    """Return the wait status of a zombie without reaping it."""
    state = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    assert state is not None
    return state.si_status << 8 if state.si_code == os.CLD_EXITED else state.si_status


def main(
    number: int,
    supervisor: socket.socket,
    name: str,
    parent: int,
    misfit: str | None,
    chosen: str | None = None,
) -> NoReturn:
    """Run the generation, in a child of the supervisor; does not return.

    ``name`` is that of the function that loads the hooks. ``misfit`` is why no generation of this supervisor may serve;
    None: nothing keeps it. ``chosen`` is the id of a set that is only to be loaded, to see whether it can be; None:
    serve what is in force.
    """
    code = 1
    home.chosen = chosen
    watch = Watch()
    try:
        os.setsid()
        process.die_with(parent)
        process.name("slurmhooks-gen")
        if reporting.reporter is not None:
            reporting.reporter.generation = number
        if shared.page is not None:
            shared.page.for_workers()
        announce = partial(_announce, supervisor, number, watch)
        try:
            if misfit is not None:
                raise LoadError([misfit])
            load = partial(interface.load_again, name) if number > 1 else interface.entry(name)
            loaded = load(watch, announce)
        except (ConfigError, LoadError) as error:
            line = dispatch.report_findings(error.findings, "these files do not go into service")
            _refuse(supervisor, number, [line, *error.findings], watch)
        else:
            if end_timer():
                log.error("a hook file has left a timer, which is ended")
            gc.collect()
            gc.freeze()  # workers share the memory pages of live objects until a process writes to them
            _send(supervisor, Control.LOADED, number, {"watch": watch.plain()})
            if chosen is None:
                Generation(number, supervisor, loaded).run()
            code = 0
    except BaseException as error:  # noqa: BLE001 - the stack below is the supervisor's: nothing may get there
        line = dispatch.report_findings(["\n".join(trace.lines(error))], "these files do not go into service")
        _refuse(supervisor, number, [line, f"{trace.type_name(error)}: {trace.text_of(error)}"], watch)
    finally:
        os._exit(code)


def _refuse(supervisor: socket.socket, number: int, findings: list[str], watch: Watch) -> None:
    """Tell the supervisor why this generation cannot serve: first a line for users, then every finding."""
    _send(supervisor, Control.FAILED, number, {"findings": findings, "watch": watch.plain()})


def _announce(supervisor: socket.socket, number: int, watch: Watch, settings: Settings) -> None:
    """Tell the supervisor what the configuration says; see slurmhooks.worker.interface.Announce."""
    _send(supervisor, Control.CONFIGURED, number, {"settings": settings.document(), "watch": watch.plain()})


def _send(supervisor: socket.socket, kind: int, number: int, values: dict[str, Any]) -> None:
    document = descriptors.document(values)
    try:
        control.send(supervisor, Message(kind, number, fds=(document,)))
    finally:
        os.close(document)
