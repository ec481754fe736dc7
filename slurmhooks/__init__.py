# SPDX-License-Identifier: GPL-2.0-or-later
"""Python functions at the plugin points of Slurm, such as SPANK, job_submit and scrun.

A site writes hook files. A decorated function in one of them is a handler:

    from slurmhooks import Reject, hook

    @hook.job_submit
    def require_account(job):
        if job.account is None:
            raise Reject("please name a project with --account", code="ESLURM_INVALID_ACCOUNT")

Importing this package needs neither Slurm nor compiled code. It is cheap, because every srun and slurmstepd with a
handler does it.
"""

from slurmhooks.hooks.hook import hook
from slurmhooks.log import log
from slurmhooks.values import UNLIMITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks._version import __version__
    from slurmhooks.errors import DeadlineExceeded, Reject, SlurmhooksError, SpankError, StaleHandleError

__all__ = [
    "UNLIMITED",
    "DeadlineExceeded",
    "Reject",
    "SlurmhooksError",
    "SpankError",
    "StaleHandleError",
    "__version__",
    "hook",
    "log",
    "replaying",
]


def replaying() -> bool:
    """Tell whether handlers run over recorded requests (``slurmhooks replay``) instead of real ones.

    A handler with side effects, such as one that books hours, should check this first.
    """
    import os

    return "SLURMHOOKS_REPLAYING" in os.environ


if not TYPE_CHECKING:

    def __getattr__(name):
        """Import the exceptions and the version on first use: few launches need the former, and none the latter."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "__version__":
            from slurmhooks._version import __version__

            return __version__
        from slurmhooks import errors

        exception = getattr(errors, name)
        globals()[name] = exception
        return exception
