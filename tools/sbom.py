#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write a software bill of materials (CycloneDX 1.5, JSON) of a wheel and of the packages that were installed with it.

sbom.py SITE_PACKAGES WHEEL: SITE_PACKAGES belongs to an environment that contains only the wheel and its dependencies.
The output is the same for the same environment and wheel; SOURCE_DATE_EPOCH sets the time in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = "slurmhooks"
EXTRAS = ("", "build")
"""The extras of the project that are installed with it."""
NOT_OURS = {"pip", "setuptools", "wheel"}
"""Packages that every new environment has."""


def name_of(dist: Distribution) -> str:
    """Return the name of a distribution, normalized as package indexes do for comparisons."""
    return str(canonicalize_name(dist.name))


def purl(dist: Distribution) -> str:
    """Return the package URL of a distribution, by which the document also refers to it."""
    return f"pkg:pypi/{name_of(dist)}@{dist.version}"


def component(dist: Distribution) -> dict[str, Any]:
    """Describe a distribution by its own metadata."""
    expression, text = (next(iter(dist.metadata.get_all(key) or ()), None) for key in ("License-Expression", "License"))
    classifiers = [
        entry.rpartition(" :: ")[2]
        for entry in dist.metadata.get_all("Classifier") or ()
        if entry.startswith("License :: ")
    ]
    names = [text] if text and "\n" not in text and text != "UNKNOWN" else classifiers
    licenses = [{"expression": expression}] if expression else [{"license": {"name": name}} for name in names]
    return {
        "type": "application" if name_of(dist) == PROJECT else "library",
        "bom-ref": purl(dist),
        "name": dist.name,
        "version": dist.version,
        "purl": purl(dist),
        **({"licenses": licenses} if licenses else {}),
    }


def needs(dist: Distribution, installed: dict[str, Distribution]) -> list[str]:
    """Return the installed distributions that a distribution requires."""
    extras = EXTRAS if name_of(dist) == PROJECT else ("",)
    wanted = set()
    for requirement in map(Requirement, dist.requires or ()):
        name = str(canonicalize_name(requirement.name))
        marker = requirement.marker
        if name in installed and (marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)):
            wanted.add(purl(installed[name]))
    return sorted(wanted)


def document(found: Iterable[Distribution], wheel: Path) -> dict[str, Any]:
    """Return the bill of materials.

    Raises:
        SystemExit: the project is not among them.
    """
    installed = {name_of(dist): dist for dist in found}
    if PROJECT not in installed:
        sys.exit(f"sbom.py: {PROJECT} is not installed there")
    chosen = [installed[name] for name in sorted(installed.keys() - NOT_OURS)]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    project = component(installed[PROJECT]) | {"hashes": [{"alg": "SHA-256", "content": digest}]}
    time = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "1580601600")), UTC)
    body = {
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": project},
        "components": [component(dist) for dist in chosen if name_of(dist) != PROJECT],
        "dependencies": [{"ref": purl(dist), "dependsOn": needs(dist, installed)} for dist in chosen],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1, **body}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    made = document(distributions(path=[sys.argv[1]]), Path(sys.argv[2]))
    sys.stdout.write(json.dumps(made, indent=1) + "\n")
