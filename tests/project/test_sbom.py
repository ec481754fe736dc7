# SPDX-License-Identifier: GPL-2.0-or-later
import hashlib
import importlib.util
import json
import subprocess
import sys
import sysconfig
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "sbom.py"


def bill(folder: Path) -> str:
    """Return the document of a wheel and of the packages that are installed here."""
    wheel = folder / "slurmhooks.whl"
    wheel.write_bytes(b"content")
    command = [sys.executable, str(SCRIPT), sysconfig.get_path("purelib"), str(wheel)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.exists(), reason="needs the checkout")
def test_bill_of_materials(tmp_path: Path) -> None:
    """The document has the wheel's hash and each dependency's installed version, and is the same in each run."""
    text = bill(tmp_path)
    assert bill(tmp_path) == text
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


@pytest.mark.soak
def test_the_schema(tmp_path: Path) -> None:
    """The document is valid by the strict schema of CycloneDX 1.5."""
    if importlib.util.find_spec("cyclonedx") is None:
        pytest.skip("NOT TESTED: no cyclonedx-python-lib, which `make soak` installs")
    program = (
        "import sys; from cyclonedx.schema import SchemaVersion; from cyclonedx.validation.json import *;"
        "sys.exit(str(JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read()) or '') or None)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=bill(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
