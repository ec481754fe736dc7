# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives tests a host: a folder with a site's files, and a stand-in for Slurm's programs that loads the real plugins."""

from pathlib import Path

import pytest

from tests.native.building import PLAIN, SANITIZED, Build, BuildError, Flavour, Unavailable, build
from tests.native.hosting import Host

_builds: dict[Flavour, Build | str] = {}
_broken: set[Flavour] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder as native."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("native")


def built(flavour: Flavour) -> Build:
    """Return the build of a flavour, compiled once per session; skip the test if this machine cannot compile it."""
    if flavour in _broken:
        pytest.fail("the sources do not compile; see the first failure", pytrace=False)
    if flavour not in _builds:
        try:
            _builds[flavour] = build(flavour)
        except Unavailable as reason:
            _builds[flavour] = str(reason)
        except BuildError as error:
            _broken.add(flavour)
            pytest.fail(str(error), pytrace=False)
    result = _builds[flavour]
    if isinstance(result, str):
        pytest.skip(result)
    return result


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a host with the plugins as sites have them."""
    return Host(built(PLAIN), tmp_path)


@pytest.fixture(
    params=[pytest.param(PLAIN, id="plain"), pytest.param(SANITIZED, id="sanitized", marks=pytest.mark.sanitized)]
)
def each_host(tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    """Return a host with the plugins as sites have them, then one with AddressSanitizer and UBSan."""
    return Host(built(request.param), tmp_path)


@pytest.fixture
def needs_lua(host: Host) -> None:
    """Skip if this machine has no headers of Lua."""
    if not host.build.has_lua:
        pytest.skip("no headers of Lua 5.1: install liblua5.1-0-dev")
