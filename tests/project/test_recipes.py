# SPDX-License-Identifier: GPL-2.0-or-later
"""The recipes in contrib/packaging against pyproject.toml, which they repeat."""

import re
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGING = CHECKOUT / "contrib" / "packaging"

pytestmark = pytest.mark.skipif(not PACKAGING.exists(), reason="needs the checkout")


def needed(extra: str = "") -> dict[str, str]:
    """Return the dependencies, or those of an extra: the least version by name."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return dict(line.split(">=") for line in lines)


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("debian/control", r"python3-{dashed} \(>= {version}\)"),
        ("slurmhooks.spec", r"Requires: +python%{{python3_pkgversion}}-{name} >= {version}\n"),
    ],
)
def test_recipes_have_the_dependencies(file: str, pattern: str) -> None:
    """Each recipe names every dependency, with its least version."""
    text = (PACKAGING / file).read_text()
    for name, version in needed().items():
        wanted = pattern.format(name=name, dashed=name.replace("_", "-"), version=re.escape(version))
        assert re.search(wanted, text), (file, name, version)


@pytest.mark.parametrize("file", ["debian/control", "slurmhooks.spec"])
def test_packages_of_plugins_have_the_build_tools(file: str) -> None:
    """The plugins are built where the package is installed, so it depends on meson and ninja."""
    text = re.sub(r"[()]", "", (PACKAGING / file).read_text())
    assert f"meson >= {needed('build')['meson']}" in text
    assert "ninja-build" in text


def test_the_trigger_is_not_awaited_by_a_dependency() -> None:
    """dpkg drops a trigger if its package depends on the package that awaits it; slurmctld would then start first."""
    text = (PACKAGING / "debian" / "control").read_text()
    depends = text.partition("Package: slurmhooks-plugins")[2].partition("Recommends:")[0]
    assert "slurm-wlm" not in depends
    assert "libslurm-dev" in depends
