# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files that are loaded again when they change, for processes that live long.

A set of handlers goes into force as a whole. What fails to load, and what would take handlers away by accident, leaves
the last good set in force; docs/operating.md states the rule.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from slurmhooks import dispatch, loader, paths, site, trusted
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.hook_specs import HOOKS
from slurmhooks.log import log
from slurmhooks.registry import Registry
from slurmhooks.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.hook_specs import HookSpec
    from slurmhooks.loader import Source
    from slurmhooks.paths import State
    from slurmhooks.registry import Handler

RETRY = 1.0
"""Seconds after which a load that failed is tried again, even if no change is seen."""
REPEAT = 60.0
"""Seconds after which it is reported again."""
SETTLED = 2.0
"""Seconds without a change before handlers are taken away on purpose: a half-written file may seem complete."""

STAYS = "the hooks that were loaded before stay in force"


class Former(NamedTuple):
    """What is known of a handler that another process had in force: enough to see that it is gone."""

    spec: HookSpec
    label: str
    path: str


if TYPE_CHECKING:
    Contents = Mapping[str, Sequence[Handler | Former]]
    """The handlers of each source, by its name."""


class _Unsettled(Exception):  # noqa: N818 - not an error: it will be loaded later
    """Handlers would go, by a change that may not be complete yet."""


class LiveSite:
    """The handlers that the configuration names, as they were when they last loaded without a fault.

    Attributes:
        registry: the handlers in force.
        config: the configuration that they were loaded by; set by :meth:`start`.
        findings: why the files as they are now are not in force; empty if they are.
    """

    config: Config

    def __init__(
        self,
        check: Callable[[Registry], list[str]],
        path: Path | None = None,
        scripts: Callable[[Config, Path], list[Source]] | None = None,
        hooks: Container[str] = HOOKS,
    ) -> None:
        """Load nothing yet.

        Args:
            check: returns what else is wrong with a set of handlers in this process.
            path: the configuration file; by default slurmhooks.toml beside slurm.conf.
            scripts: returns what the configuration names in other languages; it comes before the hook files.
            hooks: the hooks that this process calls; only their handlers must not be lost.
        """
        self._check = check
        self._hooks = hooks
        self._scripts = scripts
        self._path = path or site.config_path()
        self._packages: tuple[str, ...] = ()
        self._reload = True
        self._watch = Watch()
        self._good = self._watch
        self._again = False
        self._next_try = 0.0
        self._next_report = 0.0
        self._unsettled_since: float | None = None
        self._before: Contents = {}
        self.registry = Registry((), ())
        self.findings: list[str] = []

    def resume(self, before: Contents, files: Mapping[str, State]) -> None:
        """Go on from what was in force in another process, before :meth:`start`: nothing of it gets lost by accident.

        Args:
            before: its handlers by their source.
            files: how its files were before they were read.
        """
        self._before = before
        self._good = Watch(files)

    @property
    def in_force(self) -> Contents:
        """The handlers in force that this process calls, by their source, and sources that have none."""
        return self._before

    @property
    def files(self) -> Mapping[str, State]:
        """How files were before they were last read, whether they are in force or not."""
        return self._watch.files

    def start(self) -> None:
        """Load for the first time: only what really does not exist means that there are no hooks.

        After :meth:`resume`, wait until the files have settled if they take handlers away.

        Raises:
            ConfigError: the configuration is wrong, or cannot be read.
            LoadError: a hook file is, or a handler that the configuration requires is missing.
        """
        while True:
            try:
                self._load()
                break
            except _Unsettled as unsettled:
                self._wait(unsettled)
                time.sleep(SETTLED)
                if self._watch.changed():
                    self._unsettled_since = None
        self._log_notes()

    def refresh(self) -> bool:
        """Load again if anything changed or the last load failed; call it before each event, or once a second.

        A fault leaves the last good handlers in force. It is logged once a change, and once a minute while it lasts.

        Returns:
            whether other handlers are in force now.
        """
        if not self._reload:
            return False
        now = time.monotonic()
        changed = self._watch.changed()
        if not changed and not (self._again and now >= self._next_try):
            return False
        self._next_try = now + RETRY
        self._again = True
        if changed:
            self._unsettled_since = None
        before = self._before
        try:
            self._load()
        except _Unsettled as unsettled:
            self._wait(unsettled)
            return False
        except (ConfigError, LoadError) as error:
            self.findings = error.findings
            if changed or now >= self._next_report:
                self._next_report = now + REPEAT
                dispatch.report_findings(error.findings, STAYS)
            return False
        self._again = False
        self._unsettled_since = None
        self.findings = []
        report_change(before, self._before)
        self._log_notes()
        return True

    def _wait(self, unsettled: _Unsettled) -> None:
        """Note since when handlers are about to go."""
        if self._unsettled_since is None:
            self._unsettled_since = time.monotonic()
            log.info("%s: removed once nothing has changed for %g seconds", unsettled, SETTLED)

    def _log_notes(self) -> None:
        for note in self.registry.notes:
            log.info("note: %s", note)

    def _load(self) -> None:
        # Each file is looked at before it is read: what changes meanwhile is seen as a change afterwards.
        self._watch = watch = Watch()
        config = str(self._path)
        watch.add([config, *site.module_files(self._packages)])
        if any(self._before.values()):
            _refuse_blank(config)
        read = site.read_config(self._path)
        watch.add_folders(
            site.folders(self._path, read),
            lambda: [(source.name, source.path) for source in site.sources_of(self._path, read)],
        )
        sources = site.sources_of(self._path, read)
        if self._scripts is not None:
            sources = [*self._scripts(read, self._path), *sources]
        watch.add(source.name for source in sources if source.path is not None)
        # Of two names of one file only the first is a source, but the other may be set to another file.
        watch.add(name for name in site.patterns_of(self._path, read) if not paths.has_magic(name))

        packages = (*self._packages, *read.hooks.modules)
        imported = {name: sys.modules.pop(name) for name in site.modules_below(packages)}
        try:
            registry = loader.load(sources, read.hooks.require, self.registry, self._accept)
        except BaseException as error:
            # The handlers in force go on to find what they have imported.
            for name in site.modules_below(packages):
                del sys.modules[name]
            sys.modules.update(imported)
            if isinstance(error, OSError):
                raise LoadError([str(error)]) from error
            raise
        self.registry = registry
        self._before = self._in_force(registry)
        self.config = read
        self._packages = read.hooks.modules
        self._reload = read.job_submit.reload
        log.limit(read.log.level, read.log.limit)
        # Only now is it known of which files a package consists.
        watch.add(site.module_files(self._packages))
        self._good = watch

    def _in_force(self, registry: Registry) -> Contents:
        """Return the handlers that this process calls, by their source, and sources that have none."""
        return {
            name: [handler for handler in handlers if handler.spec.name in self._hooks]
            for name, handlers in registry.contents.items()
        }

    def _accept(self, registry: Registry) -> None:
        """Refuse a set of handlers that this process cannot serve, or that takes handlers away by accident.

        Raises:
            LoadError: it is one.
            _Unsettled: it takes handlers away on purpose, but the files may be about to change again.
        """
        config = str(self._path)
        findings = self._check(registry)
        before, after = self._before, self._in_force(registry)
        lost = _lost(before, after)
        if lost and self._good.unedited(config):
            findings += _accidents(lost, registry, self._good, config)
        if findings:
            raise LoadError(findings)
        fewer = {name: handlers for name, handlers in lost.items() if len(after.get(name, ())) < len(before[name])}
        waited = self._unsettled_since is not None and time.monotonic() - self._unsettled_since >= SETTLED
        files = {config}.union(*(_files(name, handlers) for name, handlers in fewer.items()))
        if fewer and not waited and (any(map(_is_fresh, files)) or self._watch.changed()):
            raise _Unsettled(", ".join(map(_named, fewer.values())))


def report_change(before: Contents, after: Contents) -> None:
    """Log that other handlers are in force now, and which are not any more."""
    log.info("took up changed hooks: %d handlers", sum(map(len, after.values())))
    for name, handlers in _lost(before, after).items():
        log.info("%s: no longer in force: %s", name, _named(handlers))


def _lost(before: Contents, after: Contents) -> dict[str, list[Handler | Former]]:
    """Return the handlers that are gone, by the source that they were in; one that has moved to another is not."""
    spare: Counter[tuple[str, str]] = Counter()
    lost: dict[str, list[Handler | Former]] = {}
    for name in [*before, *(name for name in after if name not in before)]:
        left = Counter(map(_key, after.get(name, ())))
        lost[name] = _without(before.get(name, ()), left)
        spare += left
    # Files that are still there come first: for one that is gone, a doubt counts as an accident.
    for name in sorted(lost, key=lambda name: name not in after):
        lost[name] = _without(lost[name], spare)
    return {name: handlers for name, handlers in lost.items() if handlers}


def _without(handlers: Iterable[Handler | Former], others: Counter[tuple[str, str]]) -> list[Handler | Former]:
    """Return the handlers that are not among others, which each count once."""
    left: list[Handler | Former] = []
    for handler in handlers:
        if others[_key(handler)] > 0:
            others[_key(handler)] -= 1
        else:
            left.append(handler)
    return left


def _key(handler: Handler | Former) -> tuple[str, str]:
    """Return what a handler keeps when its file is renamed: hook and name."""
    return handler.spec.name, handler.label.partition(":")[2]


def _named(handlers: Iterable[Handler | Former]) -> str:
    return ", ".join(f"{handler.spec.name} handler {handler.label}" for handler in handlers)


def _files(source: str, handlers: Iterable[Handler | Former]) -> set[str]:
    """Return the files that hold some handlers of a source: a hook file, or those of a package that define them."""
    return {source} if "/" in source else {handler.path for handler in handlers}


def _is_fresh(file: str) -> bool:
    """Tell whether a file was written only just now, so that more of it may come."""
    state = paths.state(file)
    return not isinstance(state, int) and time.time_ns() - state[3] < SETTLED * 1e9


def _accidents(lost: dict[str, list[Handler | Former]], registry: Registry, good: Watch, config: str) -> list[str]:
    """Return a finding for each source that had handlers and is gone or empty, or has lost them without an edit.

    Args:
        lost: the handlers that are gone, by their source.
        registry: those that are left.
        good: how files were when all of them were loaded.
        config: the configuration file.
    """
    findings = []
    for name, handlers in lost.items():
        files = _files(name, handlers)
        remedy = f"touch {config}"
        if name not in registry.contents or any(isinstance(paths.state(file), int) for file in files):
            what = "is gone, and with it"
        elif any(map(_is_blank, files)):
            what = "is empty, and with it"
            remedy = f"leave a comment in the file, or {remedy}"
        elif all(map(good.unedited, files)):
            what = "has not changed, but lacks now"
        else:
            continue
        findings.append(f"{name}: {what} {_named(handlers)}; to remove this on purpose: {remedy}")
    return findings


def _refuse_blank(config: str) -> None:
    """Refuse a configuration that is missing or empty while handlers are in force.

    Raises:
        ConfigError: it is.
    """
    absent = isinstance(paths.state(config), int) and paths.is_absent(config)
    if absent or _is_blank(config):
        what = "is gone" if absent else "is empty"
        raise ConfigError([f"{config}: {what}; to remove all hooks on purpose, leave nothing but a comment in it"])


def _is_blank(path: str) -> bool:
    """Tell whether a file holds nothing but blanks; one that cannot be read, or trusted, is reported elsewhere."""
    try:
        return not trusted.read(path).strip()
    except (OSError, LoadError):
        return False
