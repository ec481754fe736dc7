# SPDX-License-Identifier: GPL-2.0-or-later
"""Print the cost of messages in a worker: ``python tests/bench/wire.py [FILE]``; FILE is a build's slurmhooks.table.

``fakehost 'time_pack 100000 FIELD=VALUE...'`` prints what packing costs slurmctld.
"""

import sys
import timeit
from collections.abc import Callable
from pathlib import Path

from slurmhooks.handlers import loader
from slurmhooks.job_submit.service import Service
from slurmhooks.job_submit.views import Views
from slurmhooks.processes.settings import Settings
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.wire.message import Message, answer, decode, pack
from slurmhooks.wire.protocol import Type
from slurmhooks.wire.tables import WIDTHS, parse

HERE = Path(__file__).parent
FILES = HERE / "files"
TABLE = HERE.parents[1] / "build" / "native-plain" / "plugins" / "slurmhooks" / "slurmhooks.table"
READS = (
    *("account", "user_id", "group_id", "name", "work_dir", "script", "reservation", "features", "tres_per_node"),
    *("qos", "time_limit", "partition"),
)
ROUNDS = 5000


def show(what: str, function: Callable[[], object]) -> None:
    """Print the best of five runs, in microseconds."""
    best = min(timeit.repeat(function, number=ROUNDS, repeat=5)) / ROUNDS
    print(f"{what:45} {best * 1e6:6.2f} us")


def unasked(question: bytes) -> bytes:
    """Answer no question."""
    raise AssertionError(question)


def main() -> None:
    """Measure with a request of 60 variables."""
    tables = parse(Path(sys.argv[1] if len(sys.argv) > 1 else TABLE).read_text())
    job = tables["job"]
    values: dict[str, int | bytes | list[bytes] | None] = {
        member.name: (1 << WIDTHS[member.kind]) - 2 for member in job.members if member.kind in WIDTHS
    }
    values |= {"account": b"a", "name": b"n", "user_id": 5, "group_id": 5, "work_dir": b"/w", "script": b"x"}
    values["environment"] = [b"VARIABLE_%d=a value of usual length" % number for number in range(60)] + [b"HOME=/h"]
    request = Message(Type.REQUEST, 0, 5, 5, ((0, pack(job, values)),)).encode(tables)
    views = Views(tables)
    service = Service(tables, loader.load(loader.expand(["policy.py"], str(FILES))), Settings())

    def read() -> object:
        ((tag, value),) = decode(request, tables).items
        view = views.job(Asking(tables, unasked).struct(tag, value))
        for name in READS:
            getattr(view, name)
        return view

    def write() -> bytes:
        return answer(tables, 0, None, {"time_limit": 60, "partition": b"debug", "comment": b"seen", "min_nodes": 1})

    print(f"Slurm {tables.release} ({tables.tier}), {len(job.members)} members, a request of {len(request)} bytes")
    show("decode", lambda: decode(request, tables))
    show("decode and twelve reads", read)
    show("encode an answer with four writes", write)
    show("the policy of policy.py, from bytes to bytes", lambda: service.handle(request, unasked))


if __name__ == "__main__":
    main()
