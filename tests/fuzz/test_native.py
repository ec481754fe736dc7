# SPDX-License-Identifier: GPL-2.0-or-later
"""No input makes the readers written in C access invalid memory, lose descriptors, or accept only a part of it."""

import subprocess

import pytest

from tests.fuzz.native import TARGETS, Target, build, clang
from tests.fuzz.soaking import CORPUS, LIMIT, search
from tests.native.building import Unavailable

every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@pytest.mark.sanitized
@every_target
def test_kept_inputs(target: Target) -> None:
    """Each kept input runs without a finding, with AddressSanitizer and UBSan."""
    files = sorted(map(str, (CORPUS / target.name).iterdir()))
    assert files
    try:
        program = build(target)
    except Unavailable as reason:
        pytest.skip(str(reason))
    process = subprocess.run([program, *files], stderr=subprocess.PIPE, check=False)
    assert process.returncode == 0, process.stderr.decode(errors="replace")


@pytest.mark.soak
@pytest.mark.timeout(LIMIT)
@every_target
def test_new_inputs(target: Target) -> None:
    """libFuzzer finds no input with a finding."""
    compiler = clang()
    if compiler is None:
        pytest.skip("no clang with libFuzzer: install clang and libclang-rt-dev; the kept inputs were run all the same")
    search(target.name, [str(build(target, compiler))])
