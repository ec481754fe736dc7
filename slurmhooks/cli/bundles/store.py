# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder in which a machine keeps its sets, and the link to the one in force.

A process may be killed at any time: files get their names only when they are complete, and one rename changes which set
is in force.
"""

import errno
import fcntl
import os
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from slurmhooks.cli.bundles import archive, contents, history, retention
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.findings import Finding
from slurmhooks.cli.progress import note
from slurmhooks.files import durable, home, slurm_conf, sums

READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of a folder that this machine must not change."""
INCOMPLETE = ".new-"
"""Start of the names of folders that are being made or removed."""


class Store:
    """The sets of a machine.

    Attributes:
        sysconfdir: the folder of slurm.conf.
        home: the folder of what follows.
        pointer: slurmhooks.set, the link to the set in force.
        folder: slurmhooks.d.
    """

    def __init__(self, sysconfdir: Path) -> None:
        self.sysconfdir = sysconfdir
        self.home = Path(home.of(str(sysconfdir)))
        self.pointer = self.home / home.SET
        self.folder = self.home / "slurmhooks.d"
        self._own = Path(os.path.realpath(self.home / home.SETS))
        # Where a link of the machine leads to that of a shared folder, the sets are there.
        real = os.path.realpath(self.pointer)
        self._sets = Path(real).parent if home.is_in_set(real) else self._own
        self._history = self.home / home.HISTORY
        self._unfinished = self.home / contents.UNFINISHED

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the store, waiting for other processes; remove what killed processes have left behind.

        Raises:
            Finding: the folder of slurm.conf cannot be written, or its sets are in another folder, or in one that does
                not look like a folder of sets.
        """
        with self._explained(), self._locked():
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what to do about a folder that cannot be written."""
        try:
            yield
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise
            name = error.filename2 or error.filename or self.folder
            what = f"{name}: {error.strerror}: 'deploy' and 'rollback' must write {self.home}: "
            other = f"name a folder that can be written in {home.FILE_NAME} beside slurm.conf"
            remedy = "run the command as root" if os.geteuid() and error.errno != errno.EROFS else other
            raise Finding(
                f"{what}{remedy}; nothing has changed"
                if self.unfinished is None
                else what + "then run the command again, which finishes the deployment"
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if not self.home.is_dir():
            raise Finding(f"{self.home} does not exist: name the folder of slurm.conf with --sysconfdir")
        if (copied := self.copied) is not None:
            raise Finding(copied)
        if self._sets != self._own:
            raise Finding(
                f"{self.pointer}: leads to what was deployed in another folder: run this with --sysconfdir for the one"
                f" that has {self._sets}"
            )
        if not home.is_in_set(str(self._own)):
            # Launches know files of a set by the path without links.
            raise Finding(
                f"{self.home / home.SETS}: leads to {self._own}: let it, or {self.folder}, lead to a folder whose path"
                f" ends with {home.SETS}"
            )
        for folder in (self.folder, self._sets):
            folder.mkdir(mode=0o755, exist_ok=True)
            if folder.stat().st_mode & 0o777 != 0o755:
                folder.chmod(0o755)
        with _held(self.folder / ".lock"):
            for folder in (self.folder, self._sets):
                for left in folder.glob(f"{INCOMPLETE}*"):
                    _discard(left)
            for path in (self.pointer, self._history, self._unfinished):
                for left in durable.leftovers(path):
                    left.unlink()
            yield

    @property
    def deployed(self) -> str | None:
        """The id of the set in force; None if there is none."""
        real = Path(os.path.realpath(self.pointer))
        return real.name if real.parent == self._sets and self.pointer.is_symlink() and real.is_dir() else None

    @property
    def copied(self) -> str | None:
        """What to do if a copy of this folder has followed its link, so that a folder is in force; None: it is one."""
        if self.pointer.is_symlink() or not self.pointer.exists():
            return None
        return (
            f"{self.pointer}: is no link, because whatever has copied it here follows links; nobody knows which set it"
            " is: copy links as links, as 'cp -a' does, or move it away, and deploy"
        )

    def place(self, bundle: str) -> Path:
        """Return the folder of a set."""
        return self._sets / bundle

    def events(self) -> list[history.Event]:
        """Return what was in force on this machine, in the order in which it came into force.

        Raises:
            Finding: the history is damaged.
        """
        events = self._read_events(self._history)
        return events if events or self.deployed is None else self._found()

    def _found(self) -> list[history.Event]:
        """Return what is known without a history: a set in force, and sets that have been, in the order of their ages.

        They have no time, so that they are kept.
        """
        places = sorted(
            self._sets.glob("[!.]*"), key=lambda place: (place.name == self.deployed, place.stat().st_mtime)
        )
        return [history.Event(bundle=place.name, verb="found") for place in places]

    def _read_events(self, path: Path) -> list[history.Event]:
        try:
            return history.parse(path.read_bytes())
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, RecursionError) as error:
            raise Finding(f"{path}: damaged: {error}; remove it, and deploy again: no set is lost") from error

    def kept(self) -> list[str]:
        """Return the ids of the sets in the store, the one that came into force last at the end.

        Raises:
            Finding: the history is damaged.
        """
        return [bundle for bundle in history.latest(self.events()) if self.place(bundle).is_dir()]

    def before(self) -> str | None:
        """Return the id of the set that was in force before the present one came into force; None: not known.

        It may no longer be in the store.
        """
        return history.before(self.events(), self.deployed)

    def put(self, data: bytes, files: Mapping[str, File]) -> str:
        """Store the files of a set, replacing files that were changed by hand; return its id.

        Raises:
            Finding: the changed files are in force; a name leads out of the set; or this machine does not have a group
                that may read a file.
        """
        for name in files:
            if not archive.is_plain(name) or name.startswith("."):  # hidden files are what a deployment derives
                raise Finding(f"{name}: not the name of a file of a set; nothing has changed")
        bundle = archive.identity(data)
        if self.place(bundle).exists():
            if bundle != self.deployed and self.content_id(bundle) != bundle:
                self._remove(self.place(bundle))
            else:
                self.verify(bundle)
                return bundle
        new = Path(tempfile.mkdtemp(prefix=INCOMPLETE, dir=self._sets))
        new.chmod(0o755)
        user = slurm_conf.user_in(slurm_conf.file_in(str(self.sysconfdir)))
        groups: contents.Groups = {}
        for name, file in files.items():
            path = new / name
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            file.write(path, user)
            if file.is_private:
                groups[name] = (file.group, path.stat().st_gid)
        contents.write_groups(new, groups)
        for place in contents.folders(new):
            with suppress(FileExistsError, NotADirectoryError):  # a file of the set, which the loader refuses
                place.mkdir(mode=0o755, parents=True)
        for folder, _, _ in os.walk(new):
            os.chmod(folder, 0o755)
            durable.force(folder)
        new.rename(self.place(bundle))
        durable.force(self._sets)
        return bundle

    def write_derived(self, bundle: str, derived: Mapping[str, File]) -> None:
        """Write what processes read of a set that was verified: the sums of its files, and what was made from them."""
        sums.write(str(self.place(bundle)))
        user = slurm_conf.user_in(slurm_conf.file_in(str(self.sysconfdir)))
        for name, file in derived.items():
            file.write(self.place(bundle) / name, user)

    def content_id(self, bundle: str) -> str:
        """Return the id of the present files of a set, which differs from its id if they were changed."""
        return archive.identity(archive.pack(contents.of_folder(self.place(bundle))))

    def verify(self, bundle: str) -> None:
        """Refuse a set whose files were changed.

        Raises:
            Finding: the files were changed.
        """
        if self.content_id(bundle) != bundle:
            place = self.place(bundle)
            raise Finding(f"{place}: its files were changed by hand; put another set in force, then deploy it again")

    @property
    def unfinished(self) -> history.Event | None:
        """The deployment that has begun and not ended; None if there is none.

        Raises:
            Finding: the note about it is damaged.
        """
        events = self._read_events(self._unfinished)
        return events[-1] if events else None

    def begin(self, event: history.Event) -> None:
        """Note that a deployment begins, so that the next command can finish it if this one is killed.

        The note is the history as it will be, so that its end needs no room on the disk.
        """
        durable.write(self._unfinished, history.render([*self.events(), event]), 0o644)

    def end(self, happened: bool) -> None:
        """Note that the deployment has ended."""
        if happened:
            self._unfinished.rename(self._history)
        else:
            self._unfinished.unlink(missing_ok=True)
        durable.force(self.folder)

    def switch(self, bundle: str) -> None:
        """Put a set in force, whose files must be complete, by one rename.

        Raises:
            OSError: the link cannot be replaced; what was in force stays.
        """
        durable.link(self.pointer, f"{home.SETS}/{bundle}")

    def go_back(self, event: history.Event) -> None:
        """Put in force what was in force before a deployment that has failed.

        If that was a link that led to no set, it is one again, and launches are still refused.
        """
        if event.first:
            self.pointer.unlink()
            durable.force(self.home)
        else:
            self.switch(event.before or "none")

    def prune(self) -> None:
        """Remove the sets that no job can need any more, except the last ones and those of an unfinished deployment."""
        period = retention.period(slurm_conf.file_in(str(self.sysconfdir)))
        kept = {*retention.needed(self.events(), period, retention.today()), self.deployed}
        kept |= {event.bundle for event in self._read_events(self._unfinished)}
        for place in self._sets.iterdir():
            if place.name not in kept:
                self._remove(place)

    def _remove(self, place: Path) -> None:
        """Remove a set; one that a killed process has removed in part is no set."""
        gone = Path(tempfile.mkdtemp(prefix=INCOMPLETE, dir=self._sets))
        place.rename(gone)
        _discard(gone)

    @contextmanager
    def staged(self, bundle: str) -> Iterator[Path]:
        """Make a temporary folder like that of slurm.conf, but with the set in force; yield its path."""
        stage = Path(tempfile.mkdtemp(prefix=INCOMPLETE, dir=self.folder))
        try:
            stage.chmod(0o755)
            for entry in self.sysconfdir.iterdir():
                if not entry.name.startswith("slurmhooks."):
                    (stage / entry.name).symlink_to(entry)
            (stage / home.SET).symlink_to(self.place(bundle))
            yield stage
        finally:
            # TemporaryDirectory of older Pythons may change the modes of the targets of links.
            shutil.rmtree(stage)


def _discard(folder: Path) -> None:
    """Remove a folder that nobody needs, as far as possible; the next command removes the rest.

    NFS keeps a file that a process of this machine has open, under another name, and so its folder.
    """
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a lock; if another process has it, say which one, and wait.

    It is a record lock, because forked processes do not inherit such a lock: a process that a killed command has left
    behind would otherwise keep it for ever. This process must not open the file a second time, because closing it
    would give up the lock. Only the owner can open it: whoever may read a file can lock it against writers.

    Raises:
        OSError: the file cannot be written, or its file system has no locks.
    """
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", errors="replace") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:  # an earlier release made it
            os.fchmod(file.fileno(), 0o600)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            note(f"{path}: waiting for {file.read().strip() or 'another process'}")
            fcntl.lockf(file, fcntl.LOCK_EX)
        file.truncate(0)
        with suppress(OSError):  # a full disk
            os.pwrite(file.fileno(), f"{_me()}\n".encode(errors="surrogateescape"), 0)
        try:
            yield
        finally:
            file.truncate(0)


def _me() -> str:
    """Describe this process for those who wait for it."""
    command = shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
    since = datetime.now().astimezone()
    return f"process {os.getpid()} on {socket.gethostname()} ({command}), since {since:%Y-%m-%d %H:%M:%S}"
