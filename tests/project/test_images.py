# SPDX-License-Identifier: GPL-2.0-or-later
"""Values for Kubernetes and Dockerfiles, as far as they can be judged without an image."""

import re
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.config import model
from slurmhooks.handlers import loader

IMAGES = Path(__file__).resolve().parents[2] / "contrib" / "packaging" / "images"
DOCS = IMAGES.parents[2] / "docs"
DOCKERFILES = sorted(IMAGES.glob("Dockerfile*"))


@pytest.fixture
def values() -> Any:
    """The values for the chart."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing")
    return yaml.safe_load((IMAGES / "values.yaml").read_text())


def test_the_volume_of_the_controller_loads(values: Any, tmp_path: Path) -> None:
    """The configuration is valid, and the hook files beside it define the handlers that it requires."""
    for name, text in values["configFiles"].items():
        (tmp_path / name).write_text(text)
    config = model.read(tmp_path / "slurmhooks.toml")
    registry = loader.load(loader.expand(config.hooks.paths, str(tmp_path)))
    assert {handler.label for handler in registry.all_handlers()} == set(config.hooks.require)
    assert values["controller"]["extraConfMap"] == {"JobSubmitPlugins": "python"}


def test_pods_have_what_they_deploy(values: Any) -> None:
    """Workers and login pods mount a volume that exists at the folder that the page lets them deploy."""
    folder = re.search(r"slurmhooks deploy --watch --sysconfdir \S+ (/\S+);", (DOCS / "kubernetes.md").read_text())
    assert folder is not None
    for defaults, container in (("nodesetDefaults", "slurmd"), ("loginsetDefaults", "login")):
        (mount,) = values[defaults][container]["volumeMounts"]
        assert mount["mountPath"] == folder[1]
        assert mount["readOnly"]
        assert mount["name"] in {volume["name"] for volume in values[defaults]["podSpec"]["volumes"]}


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_no_compiler_stays(path: Path) -> None:
    """Only the first stage installs a compiler, and the last one takes its results and installs the plugins."""
    first, last = path.read_text().split("\nFROM ")[1:]
    assert " gcc " in first
    assert "gcc" not in last
    assert "COPY --from=build /opt/slurmhooks /opt/slurmhooks" in last
    assert "slurmhooks install --from /opt/slurmhooks/plugins" in last
