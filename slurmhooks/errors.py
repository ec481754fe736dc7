# SPDX-License-Identifier: GPL-2.0-or-later
"""The exceptions of slurmhooks; imports nothing, so that everything may import it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class SlurmhooksError(Exception):
    """Base of the errors that slurmhooks itself raises."""


class Reject(Exception):  # noqa: N818 - the contract's name: a decision, not an error
    """Refuse the request at hand, with a text for the user.

    Args:
        text: what the user reads, one or more lines.
        code: an ``ESLURM_*`` or ``ESPANK_*`` name, or a number; None for the hook's general failure. Whatever else it
            is, a misspelled name or one of another release than the running one, the request is refused with the
            general failure, and the log says so.
    """

    text = ""
    code: str | int | None = None

    def __init__(self, text: str = "", *, code: str | int | None = None) -> None:
        """Keep text and code; see the class."""
        super().__init__(text)
        # Another exception, for instance: what it says is for the user.
        self.text = str(text) if text else ""
        self.code = code


class StaleHandleError(SlurmhooksError):
    """A view (``job``, ``spank``, ``container`` ...) was used after the call that it was made for."""


class HandlerError(SlurmhooksError):
    """A handler broke the rules of its hook, for instance by returning a value."""


class SpankError(SlurmhooksError):
    """A SPANK function of Slurm failed.

    Args:
        code: the name of the ``ESPANK_*`` code.
        item: the item or function that failed, as Slurm spells it.
        text: what went wrong and where the call is allowed.
    """

    def __init__(self, code: str, item: str, text: str) -> None:
        """Keep code, item and text; see the class."""
        super().__init__(f"{item}: {text} ({code})")
        self.code = code
        self.item = item


class ConfigError(SlurmhooksError):
    """The configuration is wrong; one finding for each thing that is.

    Args:
        findings: each names file, key and what to do.
    """

    def __init__(self, findings: Sequence[str]) -> None:
        """Keep the findings; see the class."""
        super().__init__("\n".join(findings))
        self.findings = list(findings)


class LoadError(SlurmhooksError):
    """Hook files could not be loaded; one finding for each thing that is wrong.

    Args:
        findings: each names file, line and cause, with the traceback in further lines where there is one.
    """

    def __init__(self, findings: Sequence[str]) -> None:
        """Keep the findings; see the class."""
        super().__init__("\n".join(findings))
        self.findings = list(findings)
