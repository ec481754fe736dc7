# SPDX-License-Identifier: GPL-2.0-or-later
"""Let this machine's sbatch, srun or salloc make its request, without sending it.

A library of the build (native/submission) is loaded into the command, and writes the request to a file instead.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError
from slurmhooks.values import NO_VAL
from slurmhooks.wire.message import Packed, decode
from slurmhooks.wire.protocol import MAGIC
from slurmhooks.wire.tables import FILE_NAME, TableError, parse
from slurmhooks.workshop.testing.job_submit import DEFAULTS, FakeJob, fields_of, struct_of
from slurmhooks.workshop.testing.options.values import SbatchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIBRARY = "slurmhooks_submission.so"
VARIABLE = "SLURMHOOKS_SUBMISSION"
ENDED = 125
"""Exit code of a command that the library has ended."""
NOBODY = (None, 99)
"""User ids that commands send for their own user, in some releases."""
SECONDS = 60
"""After so long a command is ended."""


class UnavailableError(SlurmhooksError):
    """The command of this machine cannot be asked."""


def requests(folder: Path, program: str, words: Sequence[str], script: str | None = None) -> list[dict[str, Any]]:
    """Return the fields that are set in the request of each component.

    ``folder`` is that of the installed build, with the library. ``words`` come after the name of the command, and
    ``script`` is its standard input.

    Raises:
        UnavailableError: the command cannot be asked.
        SbatchError: the command refuses the words, or ends without a request.
    """
    try:
        tables = parse((folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, TableError) as error:
        raise UnavailableError(str(error)) from error
    path = shutil.which(program)
    # A script of that name may call the command in ways that leave the library out, and would submit.
    if path is None or not Path(path).read_bytes().startswith(b"\x7fELF"):
        raise UnavailableError(f"{path or program} is no program of Slurm on this machine")
    if _call(folder, path, [program, "--version"], None)[1] != MAGIC:
        raise UnavailableError(f"{path} does not load {folder / LIBRARY}")
    done, data = _call(folder, path, [program, *words], script)
    messages = list(_messages(data.removeprefix(MAGIC)))
    if done.returncode == ENDED:
        raise UnavailableError(done.stderr.strip())
    if done.returncode or not messages:
        raise SbatchError(done.stderr.strip() or f"{program} ends without a request")
    return [
        _fields(
            Packed(tables["job"], decode(each, tables).items[0][1]), tables.release, number if messages[1:] else None
        )
        for number, each in enumerate(messages)
    ]


def _call(
    folder: Path, path: str, words: list[str], script: str | None
) -> tuple[subprocess.CompletedProcess[str], bytes]:
    """Run a program with all its words; return what it did, and what the library wrote."""
    with tempfile.NamedTemporaryFile() as file:
        preload = ":".join(filter(None, [str(folder / LIBRARY), os.environ.get("LD_PRELOAD")]))
        try:
            done = subprocess.run(
                words,
                executable=path,
                env={**os.environ, "LD_PRELOAD": preload, VARIABLE: file.name},
                input=script or "",
                capture_output=True,
                encoding="utf-8",
                errors="surrogateescape",
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnavailableError(str(error)) from error
        return done, file.read()


def _messages(data: bytes) -> Iterator[bytes]:
    """Yield each message; the size of one is behind its magic word, type and the identity of its tables."""
    while data:
        size = int.from_bytes(data[16:20], sys.byteorder)
        yield data[:size]
        data = data[max(size, 1) :]


def _fields(packed: Packed, release: str, component: int | None) -> dict[str, Any]:
    """Return the fields of a request that are set, as slurmctld passes them to plugins, except those of the user."""
    job = FakeJob(release=".".join(release.split(".")[:2]))
    unset = fields_of(job)
    struct = struct_of(job)
    known = struct.table.places
    raws = {member.name: packed.raw(member.name) for member in packed.table.members if member.name in known}
    raws["het_job_offset"] = NO_VAL[32] if component is None else component
    struct.put(raws)
    fields = {name: value for name, value in fields_of(job).items() if value != unset[name]}
    defaults = sum(int(flag) for name, flag in DEFAULTS.items() if name not in fields)
    fields["bitflags"] = int(fields.get("bitflags", 0)) | defaults
    fields.setdefault("alloc_node", socket.gethostname())
    if fields.get("user_id") in (*NOBODY, os.getuid()):
        for name in ("user_id", "group_id"):
            fields.pop(name, None)
    return fields
