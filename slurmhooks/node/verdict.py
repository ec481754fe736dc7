# SPDX-License-Identifier: GPL-2.0-or-later
"""From the results of health checks to the texts for which the node is drained, if any."""

from __future__ import annotations

from slurmhooks.hooks.rollout import ENFORCE, OFF, WARN
from slurmhooks.node.model import BUG, LEFT, PASSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from slurmhooks.handlers.registry import Handler
    from slurmhooks.hooks.terms import Terms
    from slurmhooks.node.model import Result
    from slurmhooks.node.state import NodeMemory


def terms_of(check: Handler) -> Terms:
    """Return the terms of a check."""
    assert check.terms is not None
    return check.terms


def of_node(checks: Iterable[Handler], node: str) -> list[Handler]:
    """Return the checks that are for a node; the others are as if the site had none."""
    return [check for check in checks if terms_of(check).concern(node)]


def due(
    checks: Iterable[Handler], state: NodeMemory, contexts: Iterable[str], now: float, alive: Callable[[str], bool]
) -> list[Handler]:
    """Return the checks that run now.

    A check of which a process hangs in the kernel does not run: it would leave one more such process each time.

    ``now`` is in seconds since 1970. ``alive`` tells whether a process that SIGKILL did not end is still there.
    """
    chosen = []
    here = frozenset(contexts)
    for check in checks:
        history = state.of(check.label)
        pause = terms_of(check).pause
        if history.hung and not alive(history.hung):
            history.hung = ""
        if (
            terms_of(check).mode != OFF
            and here.intersection(check.contexts)
            and not history.hung
            and not now < history.due <= now + pause  # also after the clock was put back
        ):
            chosen.append(check)
    return chosen


def count(checks: Sequence[Handler], results: Iterable[Result], state: NodeMemory, now: float) -> list[str]:
    """Take the results into the state; return lines for the log.

    A bug keeps what is known of the check, unless it is to drain the node: neither a broken file drains a cluster, nor
    does it return a broken node.
    """
    lines = []
    for check, result in zip(checks, results, strict=True):
        history = state.of(check.label)
        history.hung = result.process
        if result.kind == LEFT:
            lines.append(f"health check {check.label} was left out: the time of the whole run was over")
            continue
        history.due = now + terms_of(check).pause if terms_of(check).pause else 0.0
        if result.kind == BUG:
            lines.append(result.text)
            if not check.lenient:
                continue
        if result.kind == PASSED:
            history.fails, history.text = 0, ""
            continue
        text = f"health check {check.label} failed" if result.kind == BUG else result.text
        begins = not is_failing(check, state)
        history.fails, history.text = min(history.fails + 1, terms_of(check).fails), text
        mode = terms_of(check).mode
        if mode != ENFORCE and is_failing(check, state) and (mode == WARN or begins):
            lines.append(f"health check {check.label} ({mode}) would drain this node: {text}")
    return lines


def take_as_last(checks: Iterable[Handler], results: Iterable[Result], state: NodeMemory) -> None:
    """Let each refusal be enough to drain the node, because the next run would take its own for the first one."""
    for check, result in zip(checks, results, strict=True):
        if result.kind not in (PASSED, LEFT) and (result.kind != BUG or check.lenient):
            state.of(check.label).fails = terms_of(check).fails


def is_failing(check: Handler, state: NodeMemory) -> bool:
    """Tell whether a check has refused often enough."""
    history = state.of(check.label)
    return bool(history.text) and history.fails >= terms_of(check).fails


def texts(checks: Iterable[Handler], state: NodeMemory) -> list[str]:
    """Return the texts for which the node must be drained, each once; none if it need not be."""
    failing = [check for check in checks if terms_of(check).mode == ENFORCE and is_failing(check, state)]
    return list(dict.fromkeys(state.of(check.label).text for check in failing))


def forget(checks: Iterable[Handler], state: NodeMemory) -> None:
    """Remove from the state what no check of the site has."""
    labels = {check.label for check in checks}
    state.checks = {label: history for label, history in state.checks.items() if label in labels}
