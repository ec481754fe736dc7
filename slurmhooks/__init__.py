# SPDX-License-Identifier: GPL-2.0-or-later
"""Python functions at the plugin points of Slurm, such as SPANK, job_submit and scrun.

A site writes hook files. A decorated function in one of them is a handler:

    from slurmhooks import Reject, hook

    @hook.job
    def require_account(job):
        if job.leaves_out("account"):
            raise Reject("please name a project with --account", code="ESLURM_INVALID_ACCOUNT")

Importing this package needs neither Slurm nor compiled code. It is cheap, because every srun and slurmstepd with a
handler does it.
"""

from slurmhooks.log import log

TYPE_CHECKING = bool(())  # an editor's completion leaves out what follows a plain False
if TYPE_CHECKING:
    from slurmhooks._version import __version__
    from slurmhooks.errors import DeadlineExceeded, Reject, SlurmhooksError, SpankError, StaleHandleError, UnknownError
    from slurmhooks.hooks.hook import hook
    from slurmhooks.values import UNLIMITED

__all__ = [
    "UNLIMITED",
    "DeadlineExceeded",
    "Reject",
    "SlurmhooksError",
    "SpankError",
    "StaleHandleError",
    "UnknownError",
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
        """Import the rest on first use: most commands need none of it, and launches only a part."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "__version__":
            from slurmhooks._version import __version__

            return __version__
        if name == "hook":
            from slurmhooks.hooks import hook as module
        elif name == "UNLIMITED":
            from slurmhooks import values as module
        else:
            from slurmhooks import errors as module
        value = getattr(module, name)
        globals()[name] = value
        return value
