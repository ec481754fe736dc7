# SPDX-License-Identifier: GPL-2.0-or-later
import hashlib
import json
import subprocess
import sys
import sysconfig
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "sbom.py"


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.exists(), reason="needs the checkout")
def test_bill_of_materials(tmp_path: Path) -> None:
    """The document has the wheel's hash and each dependency's installed version, and is the same in each run."""
    wheel = tmp_path / "slurmhooks.whl"
    wheel.write_bytes(b"content")
    command = [sys.executable, str(SCRIPT), sysconfig.get_path("purelib"), str(wheel)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == text
    document = json.loads(text)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    project = document["metadata"]["component"]
    assert (project["name"], project["version"]) == ("slurmhooks", version("slurmhooks"))
    assert project["licenses"] == [{"expression": "GPL-2.0-or-later"}]
    assert project["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"content").hexdigest()}]
    components = {each["bom-ref"]: each for each in document["components"]}
    graph = {each["ref"]: set(each["dependsOn"]) for each in document["dependencies"]}
    assert graph.keys() == {*components, project["bom-ref"]}
    assert set().union(*graph.values()) <= components.keys()
    wanted = [Requirement(text) for text in requires("slurmhooks") or ()]
    direct = {each.name.lower().replace("_", "-") for each in wanted if each.marker is None}
    assert direct <= {ref.split("/")[1].split("@")[0] for ref in graph[project["bom-ref"]]}
    pydantic = components[f"pkg:pypi/pydantic@{version('pydantic')}"]
    assert pydantic["type"] == "library"
    assert f"pkg:pypi/pydantic-core@{version('pydantic_core')}" in graph[pydantic["purl"]]
