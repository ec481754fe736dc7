# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads a set of handlers, which may replace another one.

Each set is loaded by a process of its own (slurmhooks/worker/generation.py), and goes into service as a whole. A set
that does not load is refused, and the previous set stays in service.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from slurmhooks.errors import LoadError
from slurmhooks.files import sums
from slurmhooks.files.watch import LoadedHandler, Watch
from slurmhooks.hooks.points import HOOKS
from slurmhooks.log import log
from slurmhooks.site import checked, loading

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.site.loading import Scripts

    Handlers = Mapping[str, list[LoadedHandler]]
    """The handlers of each source, by its name."""

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

    ``watch`` records the configuration, and the handlers of ``hooks``, which this process calls. ``check`` returns
    further findings about a set of handlers in this process, ``scripts`` the sources in other languages that the
    configuration names; they precede the hook files. ``prepare`` is called before any code of the site runs.

    Raises:
        ConfigError: the configuration is invalid, or cannot be read.
        LoadError: a hook file is invalid, a handler that the configuration requires is missing, or the set that is in
            force is not what was deployed.
    """
    whole = loading.have_modes(hooks)
    named = loading.of_config(path, scripts, whole=whole, checked=checked.read if whole else None)
    damaged, finding = sums.damage(str(named.path))
    watch.configuration = str(named.path)
    if prepare is not None and named.path.name not in damaged:
        prepare(named.config)
    if damaged:
        raise LoadError([finding])
    try:
        registry = named.load()
    except OSError as error:
        raise LoadError([str(error)]) from error
    findings = named.give_modes(registry, hooks)
    watch.handlers = _loaded(registry, hooks)
    findings += check(registry)
    if findings:
        raise LoadError(findings)
    config = named.config
    log.limit(config.log.level, config.log.limit)
    unused = [] if path.exists() else ["nothing has been deployed on this machine, so it has no hooks"]
    for note in [*unused, *registry.notes]:
        log.info("note: %s", note)
    return config, registry


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


def report_change(before: Handlers, after: Handlers) -> None:
    """Log that new handlers are in service, and which old ones are gone."""
    log.info("loaded changed hooks: %d handlers", sum(map(len, after.values())))
    # A file that was renamed has the same handlers.
    left = Counter(_name(each) for loaded in after.values() for each in loaded)
    for name, loaded in before.items():
        for each in loaded:
            left[_name(each)] -= 1
            if left[_name(each)] < 0:
                log.info("%s: no longer in force: %s handler %s", name, each.hook, each.label)


def _name(handler: LoadedHandler) -> tuple[str, str]:
    return handler.hook, handler.label.partition(":")[2]
