# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives every test here a host: the real plugins, opened by a stand-in for Slurm's programs."""

from pathlib import Path

import pytest

from tests.native.building import PLAIN, SANITIZED, Build, BuildError, Flavour, Unavailable, build
from tests.native.hosting import Host

_builds: dict[Flavour, Build | str] = {}
_broken: set[Flavour] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("native")


def built(flavour: Flavour) -> Build:
    """Return the build of a flavour, tried once a session; skip the test if this machine cannot make it."""
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
    found = _builds[flavour]
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host with the plugins as a site has them."""
    return Host(built(PLAIN), tmp_path)


@pytest.fixture(
    params=[pytest.param(PLAIN, id="plain"), pytest.param(SANITIZED, id="sanitized", marks=pytest.mark.sanitized)]
)
def each_host(tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    """A host as a site has it, and one that watches every access to memory."""
    return Host(built(request.param), tmp_path)
