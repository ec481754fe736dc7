# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that the entry modules of slurmctld's plugins share: loading the handlers of a plugin point, in a generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.collector import collector
from slurmhooks.errors import LoadError
from slurmhooks.files import home, trusted
from slurmhooks.handlers.job_rule import JobRule
from slurmhooks.hooks.points import POINTS
from slurmhooks.log import log
from slurmhooks.processes import confinement
from slurmhooks.processes.settings import Settings
from slurmhooks.site import reload
from slurmhooks.site import sources as site
from slurmhooks.slurmctld import NEEDS_SOURCES, PRIVATE_ARGUMENTS, libslurm
from slurmhooks.wire.tables import TableError, installed

if TYPE_CHECKING:
    from slurmhooks.config.model import Config
    from slurmhooks.files.watch import Watch
    from slurmhooks.handlers.registry import Handler, Registry
    from slurmhooks.site.loading import Scripts
    from slurmhooks.slurmctld.point_service import PointService
    from slurmhooks.wire.tables import Tables
    from slurmhooks.worker.interface import Announce


def load_point(
    watch: Watch,
    announce: Announce,
    point: str,
    scripts: Scripts | None = None,
) -> tuple[Tables, Registry, Settings]:
    """Load the handlers of one plugin; see slurmhooks.worker.interface.Load, and slurmhooks.site.reload.load().

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a hook file is invalid, or needs what this build lacks.
    """
    tables = _tables()
    hooks = POINTS[point].called
    periodic = tuple(spec.name for spec in POINTS[point].hooks if spec.is_periodic)

    def prepare(config: Config) -> None:
        announce(_settings(config, point, watch))
        confinement.drop_rights(getattr(config, point), point)

    trusted.guard()
    read, registry = reload.load(
        site.config_path(),
        watch,
        lambda registry: unserved(registry, tables, (*hooks, *periodic)),
        scripts,
        tuple(spec.name for spec in POINTS[point].hooks),
        prepare,
    )
    settings = _settings(read, point, watch)
    for handler in (handler for hook in hooks for handler in registry.handlers(hook)):
        if handler.timeout is not None and handler.timeout > settings.section.timeout:
            log.error(
                "%s: handler %s: timeout=%g is never reached: [%s] timeout = %g ends it before",
                *(handler.where, handler.label, handler.timeout, point, settings.section.timeout),
            )
    return tables, registry, settings


def load_service(service: type[PointService], watch: Watch, announce: Announce) -> PointService:
    """Load the service of a plugin point that needs only the handlers; see slurmhooks.worker.interface.Load.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a hook file is invalid, or needs what this build lacks.
    """
    return service(*load_point(watch, announce, service.point))


def _settings(config: Config, point: str, watch: Watch) -> Settings:
    hooks = home.set_of(watch.configuration or "").rpartition("/")[2]
    return Settings.of(config, point, hooks, collector.wanted(config, point))


def _tables() -> Tables:
    """Return the tables of the plugin that this process serves.

    Raises:
        LoadError: the tables cannot be read, or this process serves no plugin.
    """
    try:
        tables = installed()
    except TableError as error:
        raise LoadError([str(error)]) from None
    if tables is None:
        raise LoadError(["the folder of the plugin is not known: slurmctld's plugin has to start this process"])
    return tables


def unserved(registry: Registry, tables: Tables, hooks: tuple[str, ...]) -> list[str]:
    """Return a finding for each handler that this build cannot serve, with the remedy."""
    handlers = [handler for hook in hooks for handler in registry.handlers(hook)]
    if "record" in tables:
        has_actions = libslurm.path().exists()
        return [
            f"{handler.where}: handler {handler.label} needs {libslurm.LIBRARY}, which the build makes if it finds"
            " libslurm to link with: run 'slurmhooks build' where that is, and install the result"
            for handler in handlers
            if handler.spec.is_periodic and not has_actions
        ]
    return (
        _unlocked(handlers)
        + [
            f"{handler.where}: handler {handler.label} takes {', '.join(missing)}: {NEEDS_SOURCES}"
            for handler in handlers
            if (missing := sorted(PRIVATE_ARGUMENTS.intersection(handler.names)))
        ]
        + [
            f"{handler.where}: handler {handler.label} runs periodically: {NEEDS_SOURCES}"
            for handler in handlers
            if handler.spec.is_periodic and not PRIVATE_ARGUMENTS.intersection(handler.names)
        ]
    )


def _unlocked(handlers: list[Handler]) -> list[str]:
    """Return a finding for each handler of hook.job that this build, without records, cannot serve."""
    if not any(isinstance(handler, JobRule) for handler in handlers):
        return []
    from slurmhooks.job_submit import judging  # other plugins do not need it

    return judging.unserved(handlers)
