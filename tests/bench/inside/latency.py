# SPDX-License-Identifier: GPL-2.0-or-later
"""Run sbatch from several clients at once; print how long each took.

Arguments: how many clients, how many commands of each, and the account. Standard output: a list of milliseconds.
"""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

COMMAND = ["runuser", "-u", "alice", "--", "sbatch", "--hold", "--output=/dev/null", "--wrap=true"]


def client(count: int, account: str) -> list[float]:
    """Submit one job after the other; return the milliseconds of each.

    Raises:
        CalledProcessError: a submission was refused.
    """
    found = []
    for _ in range(count):
        begin = time.monotonic()
        subprocess.run([*COMMAND, f"--account={account}"], stdout=subprocess.DEVNULL, check=True)
        found.append(1000 * (time.monotonic() - begin))
    return found


def main(clients: int, count: int, account: str) -> None:
    """Measure; the first commands fill caches."""
    client(clients, account)
    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(client, count, account) for _ in range(clients)]
    json.dump([each for one in running for each in one.result()], sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
