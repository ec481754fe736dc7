# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker's service with the rules of a slurmhooks.toml, called as slurmctld calls it."""

from copy import copy
from pathlib import Path
from typing import Any

from slurmhooks.config import model as config
from slurmhooks.handlers import loader
from slurmhooks.handlers.rollouts import assign
from slurmhooks.job_submit.request import HOOKS
from slurmhooks.job_submit.service import Service
from slurmhooks.processes.settings import Settings
from slurmhooks.rules import source
from slurmhooks.slurmctld.call import Call
from slurmhooks.testing import FakeJob
from slurmhooks.wire.message import Message, decode
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.job_submit import request_of
from slurmhooks.workshop.testing.tables import tables_of
from tests.unit.slurmctld.decided import decision

TABLES = tables_of("24.11")


class Worker:
    """A worker with the rules and, if any, a hook file."""

    def __init__(self, folder: Path, toml: str, hooks: str = "") -> None:
        path = folder / "slurmhooks.toml"
        path.write_text(f'[rules.defaults]\ndefault_partition = "debug"\n{toml}')
        read = config.read(path)
        sources = source.sources(read, path)
        if hooks:
            (folder / "site.py").write_text(f"from slurmhooks import Reject, hook, log\n{hooks}")
            sources.append(loader.Source(path=str(folder / "site.py")))
        registry = loader.load(sources)
        assert assign(read.rollouts(), registry.all_handlers()) == []
        self.service = Service(TABLES, registry, Settings.of(read, "job_submit", ""))
        self.calls: list[Call] = []
        self.service.followers.append(self._keep)

    def _keep(self, call: Call) -> None:
        """Keep a call with its steps, which a worker forgets."""
        kept = copy(call)
        kept.steps = [*call.steps]
        self.calls.append(kept)

    def submit(self, sender: int = 1000, **fields: Any) -> list[str]:
        """Submit a job; return the lines that its user reads."""
        self.service.start()  # takes over the log of this process
        job = FakeJob(**{"user_id": sender, "release": "24.11", "script": "#!/bin/sh\n", **fields})
        struct = request_of(job, "job_submit")
        request = Message(Type.REQUEST, HOOKS.index("job_submit"), sender, sender, ((0, struct.data),))
        answer = read_answer(TABLES["job"], decode(self.service.handle(request.encode(TABLES), _nothing), TABLES))
        self.service.after()
        self.code, self.writes = answer.code, answer.writes
        return [] if answer.text is None else answer.text.decode().split("\n")

    def decision(self) -> dict[str, Any]:
        """Return the line of the decision log about the last job."""
        return decision(self.calls[-1], TABLES)


def _nothing(question: bytes) -> bytes:
    del question
    return Message(Type.RESULT).encode(TABLES)
