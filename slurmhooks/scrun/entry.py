# SPDX-License-Identifier: GPL-2.0-or-later
"""All that native/scrun may call, in scrun's anchor process, as the user who called scrun.

Every function takes the address of a ``struct slurmhooks_container`` and answers (return code for scrun, None, 0).
"""

from __future__ import annotations

import _slurmhooks_scrun as native

from slurmhooks import dispatch, loader, site
from slurmhooks.errors import ConfigError, LoadError, Reject, SlurmhooksError
from slurmhooks.log import ERROR, VERBOSE, log
from slurmhooks.scrun import cancel
from slurmhooks.scrun.model import Container
from slurmhooks.values import strings_from_c, text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmhooks.registry import Registry

    Answer = tuple[int, bytes | None, int]

ffi = native.ffi
lib = native.lib

FAILED = -1
"""SLURM_ERROR: scrun cancels the container's job."""

_registry: Registry | None = None
_job_env: dict[str, str] = {}
"""The anchor serves one container: what scrun told in stage_in holds for stage_out, where it does not tell it."""


def _sink(level: int, text: str) -> None:
    lib.slurmhooks_log(level, text.encode("utf-8", "surrogateescape"))


def _user(text: str) -> None:
    """scrun has no channel of its own to the user: at level error its lines reach the terminal."""
    for line in text.split("\n"):
        lib.slurmhooks_log(ERROR, line.encode("utf-8", "surrogateescape"))


def _record(text: str) -> None:
    """Keep tracebacks from the user's terminal, scrun's only log unless it is told another: syslog has them too."""
    _sink(VERBOSE, text)
    lib.slurmhooks_syslog(text.encode("utf-8", "surrogateescape"))


log.attach(_sink, _user, _record)


class LuaScrun:
    """scrun's functions, asked through Lua."""

    def __init__(self, pointer: Any) -> None:
        """Keep the container, which holds the Lua state."""
        self._pointer = pointer

    def ask(self, function: str, argument: bytes) -> tuple[int, bytes]:
        """See model.Scrun."""
        status = ffi.new("int *")
        output = ffi.new("char **")
        length = ffi.new("size_t *")
        failed = self._pointer.ask(self._pointer, function.encode(), argument, status, output, length)
        text = b"" if output[0] == ffi.NULL else bytes(ffi.buffer(output[0], length[0]))
        lib.free(output[0])
        if failed:
            raise SlurmhooksError(f"scrun's {function}(): {text_from_c(text)}")
        return int(status[0]), text


def stage_in(address: int) -> Answer:
    """Run the handlers of slurm_scrun_stage_in().

    Args:
        address: see the module.
    """
    return _event("stage_in", address)


def stage_out(address: int) -> Answer:
    """Run the handlers of slurm_scrun_stage_out().

    Args:
        address: see the module.
    """
    return _event("stage_out", address)


def _event(name: str, address: int) -> Answer:
    answer = dispatch.guarded(f"scrun {name}", lambda: _run(name, address), FAILED)
    if answer[1] is not None:
        log.user(answer[1].decode("utf-8", "replace"))
    return answer[0], None, 0


def _run(name: str, address: int) -> Answer:
    registry = _load()
    if registry is None:
        return FAILED, None, 0
    handlers = registry.handlers(f"scrun.{name}")
    pointer = ffi.cast("struct slurmhooks_container *", address)
    if pointer.job_env != ffi.NULL:
        pairs = (entry.partition("=") for entry in strings_from_c(ffi, pointer.job_env))
        _job_env.update({name: value for name, found, value in pairs if found})
    if not handlers:
        return 0, None, 0
    container = Container(_values(pointer), _job_env, LuaScrun(pointer))
    if name == "stage_in":  # stage_out is what is left to do for a job that is over
        cancel.attach(lambda: bool(pointer.cancelled), lambda: bool(lib.slurmhooks_job_is_over(pointer.job_id)))
    try:
        outcome = dispatch.run(handlers, {"container": container}, container)
        passed, text = outcome.passed, outcome.text
    except Reject as error:  # a StagingError, of what was to be told to scrun
        passed, text = False, error.text
    finally:
        cancel.attach(None)
    if passed:
        return 0, None, 0
    if text:
        log.user(text)
    if name == "stage_out":
        _say_what_stays(pointer)
    return FAILED, None, 0


def _say_what_stays(pointer: Any) -> None:
    """scrun goes on after a failed stage_out, and says so only at level debug: name the data that is left."""
    name, bundle, original = (text_from_c(ffi.string(getattr(pointer, it))) for it in ("id", "bundle", "orig_bundle"))
    if bundle == original:
        log.user(f"slurmhooks: stage_out of container {name} failed")
    else:
        log.user(f"slurmhooks: stage_out of container {name} failed; what it left in {bundle!r} was not staged out")


def _values(pointer: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for member in Container.TEXTS:
        text = getattr(pointer, member)
        values[member] = None if text == ffi.NULL else text_from_c(ffi.string(text))
    for member in Container.NUMBERS:
        values[member] = int(getattr(pointer, member))
    if values["orig_bundle"] is None:
        values["orig_bundle"] = values["bundle"]
    return values


def _load() -> Registry | None:
    """Load the hooks at the first staging; None if that fails, with everything in the log."""
    global _registry
    if _registry is None:
        try:
            _registry = loader.load(site.sources())
        except (ConfigError, LoadError) as error:
            log.user(dispatch.report_findings(error.findings))
    return _registry
