# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder in which a machine keeps its bundles.

A process may be killed at any time: files get their names only when they are complete, and one rename changes which
bundle is in force.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from slurmhooks.cli import manifests
from slurmhooks.cli.bundles import archive, contents, history, lock
from slurmhooks.cli.findings import Finding
from slurmhooks.files import durable, home
from slurmhooks.site import sources as site

KEPT = 5
"""Number of bundles that are kept, including the deployed one."""
INCOMPLETE = ".new-"
"""Start of the names of folders that are being made or removed."""


class Store:
    """The bundles of a machine.

    Attributes:
        sysconfdir: the folder of slurm.conf.
        home: the folder of what follows.
        toml: slurmhooks.toml.
        folder: slurmhooks.d.
    """

    def __init__(self, sysconfdir: Path) -> None:
        self.sysconfdir = sysconfdir
        self.home = Path(home.of(str(sysconfdir)))
        self.toml = self.home / site.FILE_NAME
        self.folder = self.home / "slurmhooks.d"
        self._bundles = self.folder / "bundles"
        self._current = self.folder / "current"
        self._history = self.folder / "history"
        self._unfinished = self.home / contents.UNFINISHED
        self._target = f"{site.DEPLOYED}/{site.FILE_NAME}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the store, waiting for other processes; remove what killed processes have left behind.

        Raises:
            Finding: the folder of slurm.conf cannot be written, or slurmhooks.toml cannot be replaced.
        """
        with self._explained(), self._locked():
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what to do about a folder that cannot be written, or a file that cannot be replaced."""
        try:
            yield
        except OSError as error:
            if error.errno not in (*manifests.READ_ONLY, errno.EBUSY):
                raise
            what = f"{error.filename or self.folder}: {error.strerror}: "
            if error.errno == errno.EBUSY:
                what = (
                    f"{self.toml}: mounted, so that no link can replace it: mount the folder that has it instead, or "
                )
            else:
                what += f"'deploy' and 'rollback' must write {self.home} and the folder of the plugins: "
            raise Finding(
                what
                + f"name a folder that can be written in {home.FILE_NAME} beside slurm.conf, or change the files where"
                " they come from, then run 'slurmhooks compile' here; nothing has changed"
                if self.unfinished is None
                else what + "then run the command again, which finishes the deployment"
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        for folder in (self.folder, self._bundles):
            if not folder.is_dir():
                folder.mkdir(mode=0o755)
            if folder.stat().st_mode & 0o777 != 0o755:
                folder.chmod(0o755)
        with lock.held(self.folder / ".lock"):
            for folder in (self.folder, self._bundles):
                for left in folder.glob(f"{INCOMPLETE}*"):
                    shutil.rmtree(left)
            for path in (self.toml, self._current, self._history, self._unfinished):
                for left in durable.leftovers(path):
                    left.unlink()
            yield

    @property
    def deployed(self) -> str | None:
        """The id of the bundle that slurmhooks.toml is a link into; None if it does not belong to a bundle."""
        folder = Path(site.located(str(self.toml))).parent
        return folder.name if folder.parent == self._bundles.resolve() and self.toml.is_symlink() else None

    def place(self, bundle: str) -> Path:
        """Return the folder of a bundle."""
        return self._bundles / bundle

    def events(self) -> list[history.Event]:
        """Return what was in force on this machine, in the order in which it came into force.

        Raises:
            Finding: the history is damaged.
        """
        return self._read_events(self._history)

    def _read_events(self, path: Path) -> list[history.Event]:
        try:
            return history.parse(path.read_bytes())
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, RecursionError) as error:
            raise Finding(f"{path}: damaged: {error}; remove it, and deploy again") from error

    def kept(self) -> list[str]:
        """Return the ids of the bundles in the store, the one that came into force last at the end.

        Raises:
            Finding: the history is damaged.
        """
        return [bundle for bundle in history.latest(self.events()) if self.place(bundle).is_dir()]

    def before(self) -> str | None:
        """Return the id of the bundle that was in force before the present one came into force; None: not known.

        It may no longer be in the store.
        """
        return history.before(self.events(), self.deployed)

    def note(self, event: history.Event) -> None:
        """Add an event to the history."""
        durable.write(self._history, history.render([*self.events(), event]), 0o644)

    def put(self, data: bytes, files: Mapping[str, bytes]) -> str:
        """Store the files of a bundle, replacing files that were changed by hand; return its id.

        Raises:
            Finding: the changed files are in force.
        """
        bundle = archive.identity(data)
        if self.place(bundle).exists():
            if bundle != self.deployed and self.content_id(bundle) != bundle:
                self._remove(self.place(bundle))
            else:
                self.verify(bundle)
                return bundle
        new = Path(tempfile.mkdtemp(prefix=INCOMPLETE, dir=self._bundles))
        new.chmod(0o755)
        for name, content in files.items():
            path = new / name
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            durable.write(path, content, 0o644)
        for place in contents.folders(new):
            with suppress(FileExistsError, NotADirectoryError):  # a file of the bundle, which the loader refuses
                place.mkdir(mode=0o755, parents=True)
        for folder, _, _ in os.walk(new):
            os.chmod(folder, 0o755)
            durable.force(folder)
        new.rename(self.place(bundle))
        durable.force(self._bundles)
        return bundle

    def content_id(self, bundle: str) -> str:
        """Return the id of the present files of a bundle, which differs from its id if they were changed."""
        return archive.identity(archive.pack(contents.of_folder(self.place(bundle))))

    def verify(self, bundle: str) -> None:
        """Refuse a bundle whose files were changed.

        Raises:
            Finding: the files were changed.
        """
        if self.content_id(bundle) != bundle:
            place = self.place(bundle)
            raise Finding(f"{place}: its files were changed by hand; put another bundle in force, then deploy it again")

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
        """Note that the deployment has ended.

        Args:
            happened: its bundle is in force.
        """
        if happened:
            self._unfinished.rename(self._history)
        else:
            self._unfinished.unlink(missing_ok=True)
        durable.force(self.folder)

    def switch(self, bundle: str, before: str | None) -> None:
        """Put a bundle in force by one rename.

        Args:
            bundle: the id; its files must be complete.
            before: the id of the bundle that is in force, or has the files that are in force; None: there are none.

        Raises:
            OSError: a file or link cannot be replaced; what has been replaced before is as it was.
        """
        current = os.readlink(self._current) if self._current.is_symlink() else None
        try:
            self._switch(bundle, before)
        except OSError:
            if self.deployed != bundle:
                with suppress(OSError):  # those that could not be replaced
                    if current is not None:
                        durable.link(self._current, current)
                    elif self.deployed is None:
                        self._current.unlink(missing_ok=True)
            raise

    def _switch(self, bundle: str, before: str | None) -> None:
        if self.deployed is None and before is not None:
            # The same files come into force as a bundle, so that the last rename changes all of them.
            self._set_current(before)
            durable.link(self.toml, self._target)
        self._set_current(bundle)
        if not self.toml.is_symlink() or os.readlink(self.toml) != self._target:
            durable.link(self.toml, self._target)

    def _set_current(self, bundle: str) -> None:
        durable.link(self._current, f"bundles/{bundle}")

    def withdraw(self) -> None:
        """Remove the link to the bundle in force, so that no bundle is in force."""
        self.toml.unlink()

    def prune(self) -> None:
        """Remove all bundles except the last ones."""
        kept = [*self.kept()[-KEPT:], self.deployed]
        for place in self._bundles.iterdir():
            if place.name not in kept:
                self._remove(place)

    def _remove(self, place: Path) -> None:
        """Remove a bundle; one that a killed process has removed in part is no bundle."""
        gone = Path(tempfile.mkdtemp(prefix=INCOMPLETE, dir=self._bundles))
        place.rename(gone)
        shutil.rmtree(gone)

    @contextmanager
    def staged(self, bundle: str) -> Iterator[Path]:
        """Make a temporary folder like that of slurm.conf, but with the bundle in force; yield its path."""
        stage = Path(tempfile.mkdtemp(prefix=INCOMPLETE, dir=self.folder))
        try:
            stage.chmod(0o755)
            for entry in self.sysconfdir.iterdir():
                if not entry.name.startswith("slurmhooks."):
                    (stage / entry.name).symlink_to(entry)
            (stage / self.folder.name).mkdir()
            (stage / self.folder.name).chmod(0o755)
            (stage / site.DEPLOYED).symlink_to(self.place(bundle))
            (stage / site.FILE_NAME).symlink_to(self.place(bundle) / site.FILE_NAME)
            yield stage
        finally:
            # TemporaryDirectory of older Pythons may change the modes of the targets of links.
            shutil.rmtree(stage)
