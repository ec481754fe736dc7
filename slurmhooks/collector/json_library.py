# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON library that pydantic brings, without the rest of its package.

The rest defines the types of pydantic's schemas, which takes as long as all other imports of a supervisor, and the
supervisors of all plugins of slurmctld start at each reconfiguration.
"""

from __future__ import annotations

import sys
from _frozen_importlib_external import PathFinder
from collections.abc import Callable
from types import ModuleType
from typing import Any

PACKAGE = "pydantic_core"


def _compiled() -> Any:
    """Import the compiled module of the package; a placeholder stands for the package itself meanwhile."""
    spec = PathFinder.find_spec(PACKAGE) if PACKAGE not in sys.modules else None
    if spec is not None:
        sys.modules[PACKAGE] = placeholder = ModuleType(PACKAGE)
        placeholder.__path__ = list(spec.submodule_search_locations or ())
    try:
        import pydantic_core._pydantic_core as compiled
    finally:
        if spec is not None:
            del sys.modules[PACKAGE]
    return compiled


_module = _compiled()
from_json: Callable[..., Any] = _module.from_json
to_json: Callable[[Any], bytes] = _module.to_json
