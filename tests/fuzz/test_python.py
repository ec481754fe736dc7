# SPDX-License-Identifier: GPL-2.0-or-later
"""No input makes the readers written in Python raise anything but the error that they promise."""

import contextlib
import hashlib
import time

import pytest

from slurmhooks.job_submit.strings import Dependencies, NotationError
from tests.fuzz import targets
from tests.fuzz.engine import Fuzzer
from tests.fuzz.soaking import CORPUS, FOUND, SECONDS, report

every_target = pytest.mark.parametrize("target", targets.ALL, ids=lambda target: target.__name__)


def inputs(name: str) -> list[bytes]:
    """Return the kept inputs of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


@every_target
def test_kept_inputs(target: targets.Target) -> None:
    """Each kept input runs without a finding."""
    found = inputs(target.__name__)
    assert found
    for data in found:
        target(data)


@pytest.mark.soak
@pytest.mark.timeout(SECONDS + 600)
@every_target
def test_new_inputs(target: targets.Target) -> None:
    """A coverage-guided search finds no input with a finding; its inputs are kept for the next one."""
    name = target.__name__
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    before = [path.read_bytes() for path in folder.iterdir()]
    fuzzer = Fuzzer(target, [*inputs(name), *before], targets.TOKENS.get(name, ()))
    start = time.monotonic()
    fuzzer.run(SECONDS, seed=int(time.time()))
    report(name, fuzzer.runs, time.monotonic() - start)
    for data in fuzzer.corpus:
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def test_the_search_finds_what_it_looks_for() -> None:
    """Inputs that reach new lines lead to others, and an exception comes with its input."""

    def target(data: bytes) -> None:
        with contextlib.suppress(NotationError):
            for condition in Dependencies.parse(data.decode("utf-8", "replace")).conditions:
                if any(job.delay for job in condition.jobs):
                    raise RuntimeError("found")

    fuzzer = Fuzzer(target, [b""], [b"after:", b"+1", b"1"])
    with pytest.raises(RuntimeError) as caught:
        fuzzer.run(60, seed=1)
    assert caught.value.__notes__[0].startswith("the input is b'")
    assert fuzzer.corpus
