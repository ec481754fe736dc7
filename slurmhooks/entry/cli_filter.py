# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that native/cli_filter calls, in sbatch, salloc, srun and scrontab, as the user.

They return (return code for Slurm, None, 0).
"""

from __future__ import annotations

import _slurmhooks_cli_filter as native

from slurmhooks.entry import launch_handlers
from slurmhooks.handlers import deadline, dispatch
from slurmhooks.hooks.points import COMMANDS, POINTS
from slurmhooks.log import ERROR, USER, coloured, log
from slurmhooks.values import number_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.entry.launch_handlers import Answer
    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Handler, Registry

CALLS = POINTS["cli_filter"].functions
FAILED = -1
"""SLURM_ERROR: the command ends."""

TELLS_ARGV = (23, 2)
"""The first release in which every command can read the option ``argv``: in 22.05, only sbatch can."""

_registry: Registry | None = None
_defaults: set[tuple[str, str]] = set()
"""See slurmhooks.cli_filter.model.Options."""

launch_handlers.attach(native, USER)


def call(
    which: int, command: int, address: int, early: int, offset: int, job_id: int, step_id: int, known: int
) -> Answer:
    """Run the handlers of one of Slurm's calls.

    Args:
        which: index into CALLS.
        command: index into :data:`slurmhooks.hooks.points.COMMANDS`.
        address: of the ``slurm_opt_t``; 0 after the submission.
        early: this is the early call of setup_defaults.
        offset: index of the component of a heterogeneous job.
        job_id: set only after the submission.
        step_id: set only after the submission.
        known: address of the manifest, which says what to load; or 0.
    """
    name, program = CALLS[which], COMMANDS[command]

    def argv() -> tuple[str, ...]:
        return _argv(name, address, program, offset)

    def body() -> Answer:
        registry = _load(known)
        if registry is None:
            return FAILED, None, 0
        handlers = [handler for handler in registry.handlers(f"cli_filter.{name}") if program in handler.contexts]
        if not handlers:
            return 0, None, 0
        arguments: dict[str, object] = {
            "early": bool(early),
            "offset": offset,
            "job_id": number_from_c(job_id, 32),
            "step_id": number_from_c(step_id, 32),
        }
        view = None
        if address:
            from slurmhooks.cli_filter.model import Options

            view = Options(native, address, program, bool(early), argv, _defaults if name == "setup_defaults" else None)
            arguments |= {"options": view, "job": view}
        outcome = deadline.run(handlers, arguments, view)
        if outcome.refused_by is not None:
            _refuse(outcome)
        elif outcome.text:
            log.user(outcome.text)
        return 0 if outcome.passed else FAILED, None, 0

    return dispatch.answer(f"cli_filter {name}", body, FAILED)


def _refuse(outcome: Outcome) -> None:
    """Show a refusal as the command shows one by slurmctld, such as ``sbatch: error: TEXT (LABEL)``."""
    from slurmhooks.handlers.labels import labelled, shown_label

    assert outcome.refused_by is not None
    text = labelled(outcome.text, shown_label(outcome.refused_by))
    for line in log.message(text).split("\n") if text else ():
        native.log(ERROR, coloured(line).encode())


def _argv(name: str, address: int, command: str, offset: int) -> tuple[str, ...]:
    """Return the words after the options; empty before the command line is read, where Slurm does not give them."""
    from slurmhooks.cli_filter import words

    command_line = words.of_process()
    if native.RELEASE >= TELLS_ARGV or command == "sbatch":
        return words.split(native.get(address, b"argv"), command_line)
    return () if name == "setup_defaults" else words.of_component(command_line, native.first_word(), offset)


def _script(path: str, lua: Sequence[str]) -> list[Handler]:
    from slurmhooks.lua import cli_filter

    return cli_filter.load(path, lua, native.RELEASE)


def _load(known: int) -> Registry | None:
    """Load the hooks at the first call; None if that fails, with everything in the log."""
    global _registry
    if _registry is None:
        _registry = launch_handlers.load("cli_filter", launch_handlers.content(known), _script)
    return _registry
