# SPDX-License-Identifier: GPL-2.0-or-later
"""No input makes the readers written in Python raise anything but the error that they promise."""

import importlib.util
import sys

import pytest

from tests.fuzz import targets
from tests.fuzz.soaking import CORPUS, LIMIT, search

every_target = pytest.mark.parametrize("target", targets.ALL, ids=lambda target: target.__name__)


@every_target
def test_kept_inputs(target: targets.Target) -> None:
    """Each kept input runs without a finding."""
    paths = sorted((CORPUS / target.__name__).iterdir())
    assert paths
    for path in paths:
        target(path.read_bytes())


@pytest.mark.soak
@pytest.mark.timeout(LIMIT)
@every_target
def test_new_inputs(target: targets.Target) -> None:
    """A coverage-guided search finds no input with a finding; its inputs are kept for the next one."""
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("NOT TESTED: no atheris, which `make soak` installs; the kept inputs were run all the same")
    search(target.__name__, [sys.executable, "-m", "tests.fuzz.search", target.__name__])
