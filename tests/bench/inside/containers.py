# SPDX-License-Identifier: GPL-2.0-or-later
"""Time containers inside a cluster, from `scrun create` to their first output, in turns; see interleave.py.

Standard input: {"rounds": N, "user": NAME, "bundle": PATH, "cases": {NAME: CASE}}. A case is {"lua": TEXT}, a scrun.lua
to create a container with (null: the installed one), or {"command": [...]}, a command to time for comparison. The
bundle's command writes "running" and ends.
Standard output: {NAME: [nanoseconds of each round]}.
"""

import contextlib
import json
import os
import pwd
import select
import subprocess
import sys
import time
from collections.abc import Iterator

from interleave import daemons, once, turn, urgent  # type: ignore[import-not-found]

SCRUN_LUA = "/etc/slurm/scrun.lua"
END_SECONDS = 10
TRIES = 5


def switch(text: str) -> None:
    """Replace scrun.lua atomically."""
    with open(SCRUN_LUA + ".new", "w") as file:
        file.write(text)
    os.rename(SCRUN_LUA + ".new", SCRUN_LUA)


def settle(user: str) -> None:
    """Wait until the user has no job: a completing job would delay the next one."""
    end = time.monotonic() + END_SECONDS
    while subprocess.run(["squeue", "-h", "-u", user], capture_output=True, check=True).stdout.strip():
        if time.monotonic() > end:
            subprocess.run(["scancel", "-u", user], check=True)
        time.sleep(0.05)


def holders(pipe: int) -> Iterator[int]:
    """Yield the ids of other processes that have a pipe open."""
    name = f"pipe:[{os.fstat(pipe).st_ino}]"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            files = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
            if name in files and int(pid) != os.getpid():
                yield int(pid)


def create(user: str, bundle: str, name: str) -> int | None:
    """Run a container to its end; return the nanoseconds until it ran, None if scrun lost it."""
    account = pwd.getpwnam(user)
    reader, inside = os.pipe()
    begin = time.monotonic_ns()
    subprocess.run(
        ["scrun", f"--root=/run/user/{account.pw_uid}/scrun", "create", "--bundle", bundle, name],
        stdin=subprocess.DEVNULL,
        stdout=inside,
        stderr=inside,
        cwd=account.pw_dir,
        env={"PATH": os.environ["PATH"], "HOME": account.pw_dir},
        user=user,
        group=account.pw_gid,
        extra_groups=[],
        preexec_fn=lambda: urgent([0]),
        check=False,
    )
    os.close(inside)
    output, running = b"", None
    while select.select([reader], [], [], END_SECONDS)[0] and (got := os.read(reader, 65536)):
        output += got
        if running is None and b"running" in output:
            running = time.monotonic_ns() - begin
    # 24.11's anchors sometimes spin instead of ending.
    for pid in holders(reader):
        with contextlib.suppress(OSError):
            os.kill(pid, 9)
    os.close(reader)
    if running is None:
        sys.stderr.write(f"scrun lost a container: {output.decode(errors='replace')!r}\n")
    return running


def main() -> None:
    """Time all cases in each round; the first round warms up and does not count."""
    request = json.load(sys.stdin)
    nanoseconds: dict[str, list[int]] = {name: [] for name in request["cases"]}
    with open(SCRUN_LUA) as file:
        kept = file.read()
    urgent(daemons())
    try:
        for number in range(request["rounds"] + 1):
            for name in turn(list(nanoseconds), number):
                case = request["cases"][name]
                took = None
                for attempt in range(TRIES):
                    if took is None and "command" in case:
                        took = once(request["user"], case["command"])
                    elif took is None:
                        switch(case["lua"] or kept)
                        settle(request["user"])
                        took = create(request["user"], request["bundle"], f"bench-{number}-{attempt}")
                if took is None:
                    sys.exit(f"{name}: scrun loses every container")
                if number:
                    nanoseconds[name].append(took)
    finally:
        switch(kept)
        urgent(daemons(), os.SCHED_OTHER)
        settle(request["user"])
    json.dump(nanoseconds, sys.stdout)


if __name__ == "__main__":
    main()
