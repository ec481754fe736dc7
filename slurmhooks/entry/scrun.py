# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that native/scrun calls, in scrun's anchor process, as the user of scrun.

The staging functions take the address of a ``struct slurmhooks_container``, and that of the manifest or 0. They return
(return code for scrun, None, 0).
"""

from __future__ import annotations

import posix

import _slurmhooks_scrun as native

from slurmhooks.entry import launch_handlers
from slurmhooks.errors import ConfigError, LoadError, Reject, SlurmhooksError
from slurmhooks.files import home, trusted
from slurmhooks.handlers import deadline, dispatch
from slurmhooks.log import ERROR, log
from slurmhooks.scrun import cancel
from slurmhooks.scrun.model import Container
from slurmhooks.site import sources as site
from slurmhooks.values import text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.entry.launch_handlers import Answer
    from slurmhooks.handlers.registry import Registry
    from slurmhooks.scrun.model import Ask

FAILED = -1
"""SLURM_ERROR, after which scrun cancels the job of the container."""

_registry: Registry | None = None
_job_env: dict[str, str] = {}
"""The job's environment, which scrun passes only to stage_in; the anchor process serves one container."""


launch_handlers.attach(native, ERROR)  # scrun has no function for messages to the user, but errors reach the terminal


def _caller(address: int) -> Ask:
    """Return a function that calls functions of scrun, through the Lua state of a container."""

    def ask(function: str, argument: bytes) -> tuple[int, bytes]:
        failed, status, output = native.ask(address, function, argument)
        if failed:
            raise SlurmhooksError(f"scrun's {function}(): {text_from_c(output)}")
        return status, output

    return ask


def stage_in(address: int, known: int) -> Answer:
    """Run the handlers of slurm_scrun_stage_in()."""
    return _event("stage_in", address, known)


def stage_out(address: int, known: int) -> Answer:
    """Run the handlers of slurm_scrun_stage_out()."""
    return _event("stage_out", address, known)


def script() -> Answer:
    """Find the site's own scrun.lua in the configuration, for a machine without a hook manifest. Runs in scrun itself.

    Returns:
        (0, path or None, 0), or (failure, text for the user, 0).
    """

    def body() -> Answer:
        if posix.getuid() == 0:
            trusted.guard()
        try:
            if home.set_in_force() is None:
                return 0, None, 0
            path, read = site.located_config(site.config_path(), whole=False)
            return 0, _bytes(site.script_of("scrun", path, read)), 0
        except (ConfigError, LoadError) as error:
            return FAILED, _bytes("\n".join(error.findings)), 0

    return dispatch.guarded("scrun script", body, FAILED)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _event(name: str, address: int, known: int) -> Answer:
    return dispatch.answer(f"scrun {name}", lambda: _run(name, address, known), FAILED)


def _run(name: str, address: int, known: int) -> Answer:
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
        deadline.of_step(str(values["job_id"]))  # if only the anchor ended, the job would run until its time limit
        outcome = deadline.run(handlers, {"container": container}, container, deadline.STEP)
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
    """Tell the user which data a failed stage_out leaves behind: scrun reports the failure only at level debug."""
    name, bundle = values["id"], values["bundle"]
    if bundle == values["orig_bundle"]:
        log.user(f"slurmhooks: stage_out of container {name} failed")
    else:
        log.user(f"slurmhooks: stage_out of container {name} failed; the data in {bundle!r} was not staged out")


def _load(known: int) -> Registry | None:
    """Load the hooks at the first call; return None if that fails, and log the findings."""
    global _registry
    if _registry is None:
        _registry = launch_handlers.load("scrun", launch_handlers.content(known))
    return _registry
