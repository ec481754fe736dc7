# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor; slurmctld's plugin starts it as ``python -I -m slurmhooks.worker MODULE:FUNCTION``.

Garbage collection is off while modules are imported, which leaves no garbage, and later ignores what they have created:
it would take a tenth of the start, for which slurmctld waits at each reconfiguration.
"""

import gc
import os
import sys

CONTROL = 3
"""The descriptor of the socket to slurmctld."""


def preload(name: str) -> None:
    """Import what every generation needs before forking: all start faster, and have one version of the package.

    A generation imports again what fails here, and reports why.
    """
    import importlib
    from contextlib import suppress

    from slurmhooks.wire.tables import installed
    from slurmhooks.worker import interface

    with suppress(Exception):
        interface.entry(name)
        for module in ("config.plain", "handlers.rollouts", "hooks.hook"):
            importlib.import_module(f"slurmhooks.{module}")
        # The tables of the plugin that slurmctld has loaded: the files may be replaced while it runs.
        installed()


def main(arguments: list[str]) -> int:
    """Run the supervisor."""
    if len(arguments) != 1:
        print("usage: python -m slurmhooks.worker MODULE:FUNCTION; slurmctld starts this", file=sys.stderr)  # noqa: T201
        return 2
    gc.disable()
    # Close what slurmctld has opened without close-on-exec.
    os.closerange(CONTROL + 1, os.sysconf("SC_OPEN_MAX"))
    os.chdir("/")
    import socket
    from contextlib import suppress

    from slurmhooks import identity
    from slurmhooks.processes import process, stderr_log
    from slurmhooks.worker.supervisor import Supervisor

    process.name("slurmhooks-sup")
    stderr_log.attach()
    if sys.stdout is not None:
        # Here, because a hook file may close it, or put something else in its place.
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] # a TextIOWrapper
    os.set_inheritable(CONTROL, False)
    misfit = identity.misfit()
    preload(arguments[0])
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=CONTROL) as client:
        Supervisor(client, arguments[0], misfit).run()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # slurmctld waits for this process, and Python would first take every module apart.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
