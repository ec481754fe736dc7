# SPDX-License-Identifier: GPL-2.0-or-later
"""The function that native/node calls, in slurmhooks_health, as root: the health checks of this node."""

from __future__ import annotations

import posix
from time import time

import _slurmhooks_node as native

from slurmhooks.entry import launch_handlers
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, slurm_conf, trusted
from slurmhooks.handlers import dispatch
from slurmhooks.log import ERROR, INFO, log, printed
from slurmhooks.node import children, ready, run, verdict
from slurmhooks.node.brake import Brake
from slurmhooks.node.draining import Controller, Unanswered
from slurmhooks.node.model import HealthNode
from slurmhooks.node.state import NodeMemory, StateFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.entry.launch_handlers import Answer
    from slurmhooks.handlers.registry import Handler

FAILED = 1
"""The exit code with which slurmd logs the output of the program at level error."""


def _sink(level: int, text: str) -> None:
    native.log(level, text.encode())


def _user(text: str) -> None:
    for line in text.split("\n"):
        _sink(ERROR, line)


log.attach(_sink, _user)  # all of it is for administrators: slurmd's log


def health_check(known: int) -> Answer:
    """Run the health checks; the result is the exit code. ``known`` is the address of the manifest, or 0."""
    return dispatch.answer("node health_check", lambda: (_run(launch_handlers.content(known)), None, 0), FAILED)


def _run(manifest: bytes | None) -> int:
    """Run the checks. A file that does not load changes nothing: neither does it drain a cluster."""
    name = slurm_conf.environment("SLURMD_NODENAME")
    if not name:
        log.error("SLURMD_NODENAME is not set: slurmd sets it when it runs this program; try 'slurmhooks try health'")
        return FAILED
    loaded = _load(manifest)
    if loaded is None:
        return FAILED
    checks, settings = verdict.of_node(loaded[0], name), loaded[1]
    file = StateFile(slurm_conf.name_here(name))
    state = NodeMemory()
    try:
        if not file.lock():
            return 0
        state = file.read()
    except (OSError, ValueError) as error:
        log.error("%s: %s; what earlier checks of this node knew is lost", file.path, error)
    known = run.contexts(state, children.identity(posix.getppid()), _boot_id())
    slurmctld = Controller(native)
    if run.needs_load(checks, known):
        try:
            known.append(slurmctld.node(name)["load"])
        except Unanswered as error:
            log.error("%s: slurmctld does not say what jobs it has: %s", name, error)
    faults, said = run.run(
        HealthNode(name, filter(None, known)),
        checks,
        state,
        settings,
        slurmctld,
        lambda: _save(file, state),
        lambda chosen, arguments: children.run(chosen, arguments, settings.seconds, native.die_with_parent, _show),
        time(),
    )
    if settings.metrics:
        _write_metrics(settings.metrics, checks, state)
    for line in faults:
        log.error("%s", line)
    if said is not None:
        (log.error if said.is_error else log.info)("%s", said.text)
    return FAILED if faults or (said is not None and said.is_error) else 0


def _write_metrics(folder: str, checks: list[Handler], state: NodeMemory) -> None:
    from slurmhooks.node import metrics

    try:
        metrics.write(folder, metrics.text(checks, state, time()))
    except OSError as error:
        log.info("%s/%s: %s", folder, metrics.FILE, error)


def _save(file: StateFile, state: NodeMemory) -> bool:
    """Write the state. If that is not possible, the node is perhaps sick: it is drained all the same."""
    try:
        file.write(state)
    except OSError as error:
        log.error("%s: %s; one refusal drains the node, and no later run undrains it", file.path, error)
        return False
    return True


def _load(manifest: bytes | None) -> tuple[list[Handler], run.Settings] | None:
    """Return the checks of the site; None if they do not load."""
    registry = launch_handlers.load("node", manifest)
    if registry is None:
        return None
    if manifest is None and home.set_in_force() is None:
        log.error("%s: nothing was deployed, so no health check runs: 'slurmhooks deploy'", home.folder())
        return None
    try:
        ready_made, settings = _ready_made(manifest)
    except (ConfigError, LoadError) as error:
        log.user(dispatch.report_findings(error.findings))
        return None
    return [*ready_made, *registry.handlers("node.health_check")], settings


def _ready_made(manifest: bytes | None) -> tuple[list[Handler], run.Settings]:
    """Return the ready-made checks and the settings.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a check is.
    """
    if manifest is not None:
        from slurmhooks.site.manifest import default_path, records

        rows = records(manifest, (), "node")
        if rows is not None:
            path = default_path()
            checks = [ready.handler(ready.table_of(words[1:]), path) for words in rows if words[0] == "check"]
            (timeout, at_most, folder), *_ = (words[1:] for words in rows if words[0] == "health")
            return checks, run.Settings(float(timeout), Brake.of(at_most), folder)
    from slurmhooks.site import sources as site

    read, checks = ready.of_file(site.config_path())
    return checks, run.Settings(read.node.timeout, Brake.of(read.node.at_most), read.metrics.textfiles or "")


def _boot_id() -> str:
    descriptor = posix.open("/proc/sys/kernel/random/boot_id", posix.O_RDONLY | posix.O_CLOEXEC)
    return trusted.rest_of(descriptor).decode().strip()


def _show(output: bytes) -> None:
    for line in printed(output):
        _sink(INFO, line)
