# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: F401 - pytest collects what is imported
"""The tests of job_submit, with the plugin whose handlers run in worker processes."""

import textwrap
from pathlib import Path

import pytest

from tests.native.building import PLAIN, SANITIZED, Build
from tests.native.conftest import built
from tests.native.hosting import Host
from tests.native.test_failing_handlers import test_a_handler_that_closes_stderr_and_prints as test_closed_stderr
from tests.native.test_failing_handlers import test_endless_recursion_through_c as test_recursion
from tests.native.test_failing_handlers import test_job_modify as test_failing_job_modify
from tests.native.test_failing_handlers import test_job_submit as test_failing_job_submit
from tests.native.test_job_submit import (
    test_a_lenient_handlers_writes_are_undone,
    test_arrays_keep_their_counters,
    test_codes_of_a_refusal,
    test_every_type_of_field,
    test_job_modify,
    test_messages_for_the_user,
    test_nothing_is_applied_when_a_later_handler_refuses,
    test_views_end_with_the_call,
)
from tests.native.test_lua import (
    test_among_handlers_in_python,
    test_fields,
    test_fields_in_every_lua,
    test_nothing_is_left_for_the_next_request,
    test_the_environment,
    test_what_does_not_fit,
)
from tests.native.test_text import test_job_submit as test_text
from tests.native.test_text import test_messages as test_messages_in_text
from tests.native.test_threads import test_what_a_thread_says_later_reaches_nobody_else

pytestmark = pytest.mark.slow

WORKERS = "job_submit_workers.so"


class WorkersHost(Host):
    """A host whose slurmctld has no Python; it ends as slurmctld does, with all that workers have logged."""

    def __init__(self, build: Build, folder: Path) -> None:
        """Take the other plugin."""
        super().__init__(build, folder)
        self.job_submit = WORKERS

    def script(self, text: str) -> Path:
        """See Host; the last line closes the plugin."""
        return super().script(f"{textwrap.dedent(text)}\nclose js\n")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host whose slurmctld has no Python."""
    return WorkersHost(built(PLAIN), tmp_path)


@pytest.fixture(
    params=[pytest.param(PLAIN, id="plain"), pytest.param(SANITIZED, id="sanitized", marks=pytest.mark.sanitized)]
)
def each_host(tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    """Likewise, and one that watches every access to memory."""
    return WorkersHost(built(request.param), tmp_path)
