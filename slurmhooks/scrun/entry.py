# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that native/scrun calls, in scrun's anchor process, as the user of scrun.

The staging functions take the address of a ``struct slurmhooks_container``, and whether there is a hook manifest. They
return (return code for scrun, None, 0).
"""

from __future__ import annotations

import posix

import _slurmhooks_scrun as native

from slurmhooks import dispatch, loader, site, trusted
from slurmhooks.errors import ConfigError, LoadError, Reject, SlurmhooksError
from slurmhooks.log import ERROR, VERBOSE, log
from slurmhooks.scrun import cancel
from slurmhooks.scrun.model import Container
from slurmhooks.values import text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.loader import Source
    from slurmhooks.registry import Registry
    from slurmhooks.scrun.model import Ask

    Answer = tuple[int, bytes | None, int]

FAILED = -1
"""SLURM_ERROR, after which scrun cancels the job of the container."""

_registry: Registry | None = None
_job_env: dict[str, str] = {}
"""The job's environment, which scrun passes only to stage_in; the anchor process serves one container."""


def _sink(level: int, text: str) -> None:
    native.log(level, text.encode())


def _user(text: str) -> None:
    """Show a text to the user: lines of level error reach the terminal."""
    for line in text.split("\n"):
        native.log(ERROR, line.encode())


def _record(text: str) -> None:
    """Log a traceback for administrators: to syslog, and at a level that does not reach the user's terminal."""
    _sink(VERBOSE, text)
    native.syslog(text.encode())


log.attach(_sink, _user, _record)


def _caller(address: int) -> Ask:
    """Return a function that calls functions of scrun, through the Lua state of a container."""

    def ask(function: str, argument: bytes) -> tuple[int, bytes]:
        failed, status, output = native.ask(address, function, argument)
        if failed:
            raise SlurmhooksError(f"scrun's {function}(): {text_from_c(output)}")
        return status, output

    return ask


def stage_in(address: int, known: int) -> Answer:
    """Run the handlers of slurm_scrun_stage_in().

    Args:
        address: address of the container.
        known: whether there is a hook manifest.
    """
    return _event("stage_in", address, bool(known))


def stage_out(address: int, known: int) -> Answer:
    """Run the handlers of slurm_scrun_stage_out().

    Args:
        address: address of the container.
        known: whether there is a hook manifest.
    """
    return _event("stage_out", address, bool(known))


def script() -> Answer:
    """Find the site's own scrun.lua in the configuration, for a machine without a hook manifest. Runs in scrun itself.

    Returns:
        (0, path or None, 0), or (failure, text for the user, 0).
    """

    def body() -> Answer:
        if posix.getuid() == 0:
            trusted.guard()
        try:
            return 0, _bytes(site.scrun_script()), 0
        except (ConfigError, LoadError) as error:
            return FAILED, _bytes("\n".join(error.findings)), 0

    return dispatch.guarded("scrun script", body, FAILED)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _event(name: str, address: int, known: bool) -> Answer:
    answer = dispatch.guarded(f"scrun {name}", lambda: _run(name, address, known), FAILED)
    if answer[1] is not None:
        log.user(answer[1].decode())
    return answer[0], None, 0


def _run(name: str, address: int, known: bool) -> Answer:
    registry = _load(known)
    if registry is None:
        return FAILED, None, 0
    handlers = registry.handlers(f"scrun.{name}")
    values = native.values(address)
    pairs = (entry.partition("=") for entry in native.job_env(address))
    _job_env.update({name: value for name, equals, value in pairs if equals})
    if not handlers:
        return 0, None, 0
    if values["orig_bundle"] is None:
        values["orig_bundle"] = values["bundle"]
    container = Container(dict(values), _job_env, _caller(address))
    if name == "stage_in":  # stage_out runs although the job is over
        cancel.attach(lambda: native.cancelled(address), lambda: native.job_is_over(values["job_id"]))
    try:
        outcome = dispatch.run(handlers, {"container": container}, container)
        passed, text = outcome.passed, outcome.text
    except Reject as error:  # a StagingError while the writes are passed to scrun
        passed, text = False, error.text
    finally:
        cancel.attach(None)
    if passed:
        return 0, None, 0
    if text:
        log.user(text)
    if name == "stage_out":
        _report_leftovers(values)
    return FAILED, None, 0


def _report_leftovers(values: dict[str, str]) -> None:
    """Tell the user which data a failed stage_out leaves, as scrun reports the failure only at level debug."""
    name, bundle = values["id"], values["bundle"]
    if bundle == values["orig_bundle"]:
        log.user(f"slurmhooks: stage_out of container {name} failed")
    else:
        log.user(f"slurmhooks: stage_out of container {name} failed; the data in {bundle!r} was not staged out")


def _load(known: bool) -> Registry | None:
    """Load the hooks at the first call; return None if that fails, and log the findings.

    Args:
        known: whether there is a hook manifest, which names the files.
    """
    global _registry
    if _registry is None:
        if posix.getuid() == 0:
            trusted.guard()
        try:
            _registry = loader.load(*_sources(known))
        except (ConfigError, LoadError) as error:
            log.user(dispatch.report_findings(error.findings))
    return _registry


def _sources(known: bool) -> tuple[list[Source], Sequence[str]]:
    """Return the hook files, and the required handlers."""
    if known:
        from slurmhooks import manifest

        rows = manifest.read(None)
        if rows is not None:
            # 'slurmhooks compile' writes no manifest if a required handler is missing.
            return manifest.sources(rows), ()
    return site.sources()
