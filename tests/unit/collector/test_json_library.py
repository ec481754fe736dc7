# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON library of pydantic, which supervisors import without the rest."""

import subprocess
import sys

import pytest

BEFORE = """
import sys
from slurmhooks.collector import json_library

assert not {"pydantic_core", "pydantic_core.core_schema", "pydantic"} & set(sys.modules), list(sys.modules)
"""
AFTER = """
from pydantic import BaseModel, TypeAdapter
import pydantic_core
from slurmhooks.collector import json_library, quick_json

class Model(BaseModel):
    number: int

assert TypeAdapter(Model).validate_json(json_library.to_json({"number": 5})) == Model(number=5)
assert Model(number=5).model_dump_json().encode() == quick_json.encode({"number": 5})
assert pydantic_core.to_json is json_library.to_json
assert isinstance(pydantic_core.core_schema.int_schema(), dict)
"""


@pytest.mark.parametrize("first", [BEFORE, ""], ids=["the library first", "pydantic first"])
def test_it_is_part_of_pydantic(first: str) -> None:
    """It imports no schemas, and pydantic works with the same compiled module, whichever is imported first."""
    subprocess.run([sys.executable, "-c", first + AFTER], check=True)
