# SPDX-License-Identifier: GPL-2.0-or-later
"""The stubs of the compiled modules declare what these modules contain."""

import ast

import pytest

from tests.native.building import ROOT
from tests.native.hosting import Host


def declared(stub: str) -> set[str]:
    """Return the names that a stub in native/ declares, those of its class for ``lib`` included."""
    tree = ast.parse((ROOT / "native" / stub).read_text())
    nodes = [node for node in tree.body if not isinstance(node, ast.ClassDef)]
    nodes += [node for cls in tree.body if isinstance(cls, ast.ClassDef) and cls.name == "_Lib" for node in cls.body]
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return names | {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and hasattr(node.target, "id")}


def test_the_stub_for_spank(host: Host) -> None:
    """The stub declares each name of the module and of its lib, except for constants.

    A release may lack some of them.
    """
    host.site(
        """
        @hook.spank.init
        def init(spank):
            import _slurmhooks_spank as module
            for name in dir(module) + dir(module.lib):
                if not name.startswith(("ESPANK_", "S_", "__")):
                    log.info("name " + name)
        """
    )
    run = host.run("context local\nopen sp $spank\ncall sp init")
    stub = declared("spank/_slurmhooks_spank.pyi")
    assert set(run.said("name")) | {"spank_prepend_task_argv", "__getattr__"} == stub


def test_the_stub_for_scrun(host: Host) -> None:
    """The stub declares each function of the module."""
    if not host.build.has_lua:
        pytest.skip("no headers of Lua 5.1: install liblua5.1-0-dev")
    host.site(
        """
        @hook.scrun.stage_in
        def stage_in(container):
            import _slurmhooks_scrun as module
            for name in dir(module):
                if not name.startswith("__"):
                    log.info("name " + name)
        """
    )
    run = host.run("lua $lua\nstage_in bundle=/b")
    assert set(run.said("name")) == declared("scrun/_slurmhooks_scrun.pyi")
