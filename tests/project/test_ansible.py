# SPDX-License-Identifier: GPL-2.0-or-later
"""The Ansible role of contrib, without a cluster; tests/cluster/test_ansible.py plays it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CONTRIB = Path(__file__).parents[2] / "contrib" / "ansible"
ROLE = CONTRIB / "roles" / "slurmhooks"
COMPUTED = {"slurmhooks_controllers", "slurmhooks_services"}
"""Variables whose default is an expression, which their description puts in words."""


def test_every_variable_is_described() -> None:
    """The variables of defaults/main.yml are those of each entry point, with the same defaults."""
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text())
    specs = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    assert set(specs) == {"main", "policy", "rollback"}
    assert {f"{name}.yml" for name in specs} <= {path.name for path in (ROLE / "tasks").iterdir()}
    for spec in specs.values():
        assert set(spec["options"]) == set(defaults)
        for name, option in spec["options"].items():
            assert option["description"], name
            assert name in COMPUTED or option["default"] == defaults[name], name


@pytest.mark.moved
@pytest.mark.slow
def test_ansible_lint(tmp_path: Path) -> None:
    """The role and the playbooks pass ansible-lint with its strictest profile."""
    program = Path(sys.executable).parent / "ansible-lint"
    if not program.exists():
        pytest.skip("THE ANSIBLE ROLE WAS NOT CHECKED: ansible-lint is missing, see pyproject.toml")
    environment = {**os.environ, "ANSIBLE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    command = [str(program), "--offline", "--profile=production", "--nocolor", "--strict"]
    done = subprocess.run(command, cwd=CONTRIB, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failure(s), 0 warning(s)" in done.stderr
