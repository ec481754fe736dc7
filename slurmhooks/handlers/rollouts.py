# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives handlers the modes of the configuration."""

from __future__ import annotations

from slurmhooks.handlers.registry import ambiguous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmhooks.handlers.registry import Handler
    from slurmhooks.hooks.rollout import Rollout


def assign(rollouts: Mapping[str, Rollout], handlers: Iterable[Handler], require: Iterable[str] = ()) -> list[str]:
    """Give handlers the rollouts of the configuration, by label, which replace those of their decorators.

    Returns:
        a finding for each rollout that is invalid, or whose label is that of no handler that can have modes, or of
        handlers in two files; and for each required handler that is not enforced for all requests.
    """
    from slurmhooks.handlers.similar import renamed  # launches seldom need it

    handlers = tuple(handlers)
    able = [handler for handler in handlers if handler.spec.has_modes]
    findings = []
    for label, rollout in rollouts.items():
        what = f'[rules.modes."{label}"] of slurmhooks.toml'
        findings += [f"{what}: {fault}" for fault in rollout.faults()]
        if reason := ambiguous(label, able):
            findings.append(f"{what}: {reason}")
            continue
        named = [handler for handler in able if handler.label == label]
        for handler in named:
            handler.rollout = rollout
        if not named:
            others = [handler.spec.name for handler in handlers if handler.label == label]
            reason = (
                f"hook.{others[0]} has no modes"
                if others
                else f"no hook file, package or script has this handler{renamed(label)}; those with modes:"
                f" {', '.join(sorted({handler.label for handler in able})) or 'none'}"
            )
            findings.append(f"{what}: {reason}")
    for label in require:
        findings += [
            f"[hooks] require of slurmhooks.toml names {label}, whose mode is {each.rollout}: it must be enforced for"
            f' all requests; change [rules.modes."{label}"] or the mode in its decorator, or remove it from require'
            for each in able
            if each.label == label and each.rollout is not None and not each.rollout.is_whole
        ]
    return list(dict.fromkeys(findings))
