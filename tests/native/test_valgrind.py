# SPDX-License-Identifier: GPL-2.0-or-later
"""The main path under valgrind: no invalid access, no use of what was never written, nothing lost."""

from concurrent.futures import Future

from tests.native.hosting import Run


def test_the_main_path(valgrind_run: "Future[Run]") -> None:
    """Open, submit, refuse, fail, launch, fork, stage: valgrind has nothing to say."""
    run = valgrind_run.result()
    assert run.one("balance")["alive"] == 0
    assert run.one("stage_in").rc == 0
    assert len(run.of("job_submit")) == 6
    assert run.one("fork")["status"] == 0  # valgrind watched the child too
    assert [call.rc for call in run.of("call")] == [0] * len(run.of("call"))
    assert len(run.said("each")) == 3
