# SPDX-License-Identifier: GPL-2.0-or-later
"""The exceptions of slurmhooks. Imports nothing, so that every module can import it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class SlurmhooksError(Exception):
    """Base class of the errors that slurmhooks raises."""


class Reject(Exception):  # noqa: N818 - the contract's name: a decision, not an error
    """Raised by a handler to refuse the request, with a text for the user.

    Args:
        text: what the user reads, one or more lines.
        code: an ``ESLURM_*`` or ``ESPANK_*`` name, or a number; None for ``ESLURM_ACCESS_DENIED`` in job_submit and
            job_modify, and for the hook's general failure code in all others. If the code is invalid, for example
            misspelled or unknown to the running release, the request is refused all the same, and the log says so.
    """

    text = ""
    code: str | int | None = None

    def __init__(self, text: str = "", *, code: str | int | None = None) -> None:
        super().__init__(text)
        # The text may be another exception: the user reads its message.
        self.text = str(text) if text else ""
        self.code = code


class NotationError(Reject, ValueError):
    """An invalid text.

    In hooks with a request or options, a user usually wrote the text. Therefore this error is a
    :class:`slurmhooks.Reject`: a handler that does not catch it refuses the request, and the user reads what is wrong
    with the text. In other hooks, such as controller_prolog, texts come from Slurm, and the error is a bug in the
    handler. Other code may catch it as a ValueError.

    Attributes:
        code: the error code with which Slurm refuses such a text.
    """


class StaleHandleError(SlurmhooksError):
    """A view (``job``, ``spank``, ``container`` ...) was used after the call that it was made for."""


class UnknownError(SlurmhooksError):
    """A handler of hook.job has read something that is not known, such as the environment at an update of the job."""


class DeadlineExceeded(BaseException):
    """Raised in a handler that has exceeded its time limit, which counts as a bug in the handler.

    It is not an Exception, so that ``except Exception`` in a loop does not keep the handler from ending.
    """


class HandlerError(SlurmhooksError):
    """A handler broke a rule of its hook, for example by returning a value."""


class SpankError(SlurmhooksError):
    """A SPANK function of Slurm failed.

    Args:
        code: the name of the ``ESPANK_*`` code.
        item: the item or function that failed, as Slurm spells it.
        text: what went wrong and where the call is allowed.
    """

    def __init__(self, code: str, item: str, text: str) -> None:
        super().__init__(f"{item}: {text} ({code})")
        self.code = code
        self.item = item


class _FindingsError(SlurmhooksError):
    def __init__(self, findings: Sequence[str]) -> None:
        super().__init__("\n".join(findings))
        self.findings = list(findings)


class ConfigError(_FindingsError):
    """The configuration is invalid.

    Args:
        findings: one for each error; it names the file, the key and the remedy.
    """


class LoadError(_FindingsError):
    """Hook files could not be loaded.

    Args:
        findings: one for each error; it names the file, the line and the cause. A traceback follows in further lines.
    """
