# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads a set of handlers that replaces another one.

Each set is loaded by a process of its own (slurmhooks/worker/generation.py), and goes into service as a whole. A set
that does not load, or that would remove handlers by accident, is refused, and the previous set stays in service;
docs/operating.md states the rule.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, paths, trusted
from slurmhooks.files.watch import LoadedHandler, Watch
from slurmhooks.hooks.points import HOOKS
from slurmhooks.log import log
from slurmhooks.site import dependencies, loading

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.site.loading import Configured, Scripts

    Handlers = Mapping[str, list[LoadedHandler]]
    """The handlers of each source, by its name."""

SETTLED = 2.0
"""Seconds without a change before handlers are removed: a file that is half written may seem complete."""

STAYS = "the hooks that were loaded before stay in force"


def load(
    path: Path,
    watch: Watch,
    check: Callable[[Registry], list[str]],
    scripts: Scripts | None = None,
    hooks: Container[str] = HOOKS,
    prepare: Callable[[Config], None] | None = None,
) -> tuple[Config, Registry]:
    """Load what a configuration names.

    May block: handlers are removed only if the files have not changed for SETTLED seconds.

    Args:
        path: the configuration file.
        watch: records the files and the handlers; its ``before`` is the set to replace. If ``before`` is None, a
            missing configuration means that there are no hooks.
        check: returns further findings about a set of handlers in this process.
        scripts: returns the sources in other languages that the configuration names; they precede the hook files.
        hooks: the hooks that this process calls; only their handlers are recorded.
        prepare: called before any code of the site runs; may be called again.

    Raises:
        ConfigError: the configuration is invalid, or cannot be read.
        LoadError: a hook file is invalid, a handler that the configuration requires is missing, or handlers would be
            lost.
    """
    before = watch.before if watch.before is not None else Watch()
    waited = False
    while True:
        try:
            named, registry = _load(path, watch, scripts, prepare)
            findings = named.give_modes(registry, hooks)
            watch.handlers = _loaded(registry, hooks)
            _refuse(findings + check(registry) + _accidents(before, watch, str(path)))
        except BaseException:
            # Watch the old files, too: those that are missing now may come back.
            for file in before.files:
                watch.file(file)
            raise
        fewer = _fewer(before.handlers, watch.handlers)
        if not fewer or home.is_in_set(str(named.path)) or not _may_change(fewer, watch, str(path)):
            break
        if not waited:
            lost = ", ".join(map(_named, fewer.values()))
            log.info("%s: removed once nothing has changed for %g seconds", lost, SETTLED)
            waited = True
        time.sleep(SETTLED)
        if not watch.changed():
            break
        dependencies.forget(named.path, named.config)
        watch.files.clear()
        watch.globs.clear()
    config = named.config
    log.limit(config.log.level, config.log.limit)
    unmatched = [f"{path}: no file matches {pattern}" for pattern, names in watch.globs.items() if not names]
    for note in [*unmatched, *registry.notes]:
        log.info("note: %s", note)
    return config, registry


def _load(
    link: Path, watch: Watch, scripts: Scripts | None, prepare: Callable[[Config], None] | None
) -> tuple[Configured, Registry]:
    """Load once; each file is watched before it is read."""
    watch.file(str(link))
    watch.file(f"{home.folder()}/{home.SET}")  # something may be deployed for the first time
    if watch.before is not None and any(watch.before.handlers.values()):
        _refuse_blank(str(link))
    named = loading.of_config(link, scripts, watch)
    # After the supervisor's files have been recorded, because the user that prepare() switches to may see less of them.
    if prepare is not None:
        prepare(named.config)
    try:
        return named, named.load()
    except OSError as error:
        raise LoadError([str(error)]) from error
    finally:
        # The files of a package are known only after its import.
        for file in dependencies.module_files(named.path, named.config):
            watch.file(file)


def _loaded(registry: Registry, hooks: Container[str]) -> dict[str, list[LoadedHandler]]:
    """Return the handlers of some hooks by their source, including sources without any."""
    return {
        name: [
            LoadedHandler(
                handler.spec.name,
                handler.label,
                handler.path,
                "" if handler.rollout is None else str(handler.rollout),
            )
            for handler in handlers
            if handler.spec.name in hooks
        ]
        for name, handlers in registry.contents.items()
    }


def _refuse(findings: list[str]) -> None:
    if findings:
        raise LoadError(findings)


def _fewer(before: Handlers, after: Handlers) -> Handlers:
    """Return the lost handlers of sources that have fewer handlers than before."""
    return {name: lost for name, lost in _lost(before, after).items() if len(after.get(name, ())) < len(before[name])}


def _may_change(fewer: Handlers, watch: Watch, config: str) -> bool:
    """Tell whether files that have lost handlers may still be changing: written less than SETTLED seconds ago."""
    files = {config}.union(*(_files(name, handlers) for name, handlers in fewer.items()))
    return any(map(_is_fresh, files)) or watch.changed()


def _is_fresh(file: str) -> bool:
    state = paths.state(file)
    return not isinstance(state, int) and time.time_ns() - state[3] < SETTLED * 1e9


def report_change(before: Handlers, after: Handlers) -> None:
    """Log that new handlers are in service, and which old ones are gone."""
    log.info("loaded changed hooks: %d handlers", sum(map(len, after.values())))
    for name, handlers in _lost(before, after).items():
        log.info("%s: no longer in force: %s", name, _named(handlers))


def _lost(before: Handlers, after: Handlers) -> dict[str, list[LoadedHandler]]:
    """Return the handlers that are gone, by their former source. A handler that has moved to another source is not."""
    spare: Counter[tuple[str, str]] = Counter()
    lost: dict[str, list[LoadedHandler]] = {}
    for name in [*before, *(name for name in after if name not in before)]:
        left = Counter(map(_key, after.get(name, ())))
        lost[name] = _without(before.get(name, ()), left)
        spare += left
    # Match existing files first: if it is unclear which handlers are lost, those of a missing file count as lost.
    for name in sorted(lost, key=lambda name: name not in after):
        lost[name] = _without(lost[name], spare)
    return {name: handlers for name, handlers in lost.items() if handlers}


def _without(handlers: Iterable[LoadedHandler], others: Counter[tuple[str, str]]) -> list[LoadedHandler]:
    """Return the handlers without a counterpart in ``others``, from which each counterpart is removed."""
    left = []
    for handler in handlers:
        if others[_key(handler)] > 0:
            others[_key(handler)] -= 1
        else:
            left.append(handler)
    return left


def _key(handler: LoadedHandler) -> tuple[str, str]:
    """Return hook and name, which stay the same when the file of a handler is renamed."""
    return handler.hook, handler.label.partition(":")[2]


def _named(handlers: Iterable[LoadedHandler]) -> str:
    return ", ".join(f"{handler.hook} handler {handler.label}" for handler in handlers)


def _files(source: str, handlers: Iterable[LoadedHandler]) -> set[str]:
    """Return the files with handlers of a source: the hook file, or the files of a package that define them."""
    return {source} if "/" in source else {handler.path for handler in handlers}


def _accidents(before: Watch, watch: Watch, config: str) -> list[str]:
    """Return a finding for each source that has lost handlers although it was not edited, or that is missing or empty.

    If the configuration was edited, all changes are intended.

    Args:
        before: the files and handlers in service.
        watch: the files and handlers that are to replace them.
        config: the configuration file.
    """
    if not before.unedited(config):
        return []
    findings = []
    for name, handlers in _lost(before.handlers, watch.handlers).items():
        files = _files(name, handlers)
        remedy = f"touch {config}"
        if name not in watch.handlers or any(isinstance(paths.state(file), int) for file in files):
            what = "is gone, and with it"
        elif any(map(_is_blank, files)):
            what = "is empty, and with it"
            remedy = f"leave a comment in the file, or {remedy}"
        elif all(map(before.unedited, files)):
            what = "has not changed, but now lacks"
        else:
            continue
        findings.append(f"{name}: {what} {_named(handlers)}; to remove this on purpose: {remedy}")
    return findings


def _refuse_blank(config: str) -> None:
    """Refuse a configuration that is missing or empty while handlers are in service.

    Raises:
        ConfigError: the configuration is missing or empty.
    """
    absent = isinstance(paths.state(config), int) and paths.is_absent(config)
    if absent or _is_blank(config):
        what = "is gone" if absent else "is empty"
        raise ConfigError([f"{config}: {what}; to remove all hooks on purpose, leave nothing but a comment in it"])


def _is_blank(path: str) -> bool:
    """Tell whether a file contains only blanks; False if it cannot be read, which the loader reports."""
    try:
        return not trusted.read(path).strip()
    except (OSError, LoadError):
        return False
