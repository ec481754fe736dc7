# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference has everything that the code offers."""

import contextlib
import functools
import importlib
import re
import sys

import click
import pytest

from docs.command_line import commands
from docs.spank_callbacks import PLACES
from slurmhooks import fields
from slurmhooks.config import model as config
from slurmhooks.fields import rows
from slurmhooks.hooks.points import CONTEXTS, HOOKS
from slurmhooks.job_submit import constants, model
from slurmhooks.spank import fields as spank_fields
from slurmhooks.spank.model import Spank
from tests.project.docs_pages import PROJECT, reference


def first_cells(text: str) -> list[str]:
    """Return the cells in the first column of the tables of a page."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def test_reference_has_every_hook() -> None:
    """Each hook has a row, and each callback and context has one."""
    cells = first_cells(reference()["hooks"])
    assert [cell for cell in cells if cell.startswith("hook.")] == [
        f"hook.{name}" for name in sorted(HOOKS, key=lambda name: (name.startswith("spank."), name.startswith("cli_")))
    ]
    for place in PLACES:
        assert f"| `{place.callback}` | `{place.context}` |" in reference()["hooks"]


def test_reference_has_every_item() -> None:
    """Each item of spank_item_t has a row, with its type."""
    cells = [cell.partition("(")[0] for cell in first_cells(reference()["spank-items"])]
    assert cells == [item.name for item in spank_fields.ITEMS]
    assert set(cells) <= set(dir(Spank))


def is_importable(name: str) -> bool:
    """Tell whether there is a module, or something in a module, of this name."""
    for rest in range(name.count(".") + 1):
        words = name.split(".")
        module = ".".join(words[: len(words) - rest])
        with contextlib.suppress(ImportError, AttributeError):
            return functools.reduce(getattr, words[len(words) - rest :], importlib.import_module(module)) is not None
    return False


def test_what_sphinx_describes_exists() -> None:
    """Each name that a page hands to autodoc can be imported; Sphinx itself may not be installed here."""
    names = set(re.findall(r"^\.\. auto\w+:: (\S+)", "".join(reference().values()), re.MULTILINE))
    assert len(names) > 20
    assert [name for name in sorted(names) if not is_importable(name)] == []


SPANK_CALLBACKS = """
init job_prolog init_post_opt local_user_init user_init task_init_privileged task_init task_post_fork task_exit
job_epilog slurmd_exit exit
"""
SPANK_FUNCTIONS = """
spank_strerror spank_symbol_supported spank_remote spank_context spank_option_register spank_option_getopt
spank_get_item spank_getenv spank_setenv spank_unsetenv spank_job_control_getenv spank_job_control_setenv
spank_job_control_unsetenv spank_prepend_task_argv slurm_error slurm_info slurm_verbose slurm_debug slurm_debug2
slurm_debug3 slurm_spank_log slurm_spank_init_failure_mode
"""
SPANK_ITEMS = """
JOB_UID JOB_GID JOB_ID JOB_STEPID JOB_NNODES JOB_NODEID JOB_LOCAL_TASK_COUNT JOB_TOTAL_TASK_COUNT JOB_NCPUS JOB_ARGV
JOB_ENV TASK_ID TASK_GLOBAL_ID TASK_EXIT_STATUS TASK_PID JOB_PID_TO_GLOBAL_ID JOB_PID_TO_LOCAL_ID JOB_LOCAL_TO_GLOBAL_ID
JOB_GLOBAL_TO_LOCAL_ID JOB_SUPPLEMENTARY_GIDS SLURM_VERSION SLURM_VERSION_MAJOR SLURM_VERSION_MINOR SLURM_VERSION_MICRO
STEP_CPUS_PER_TASK JOB_ALLOC_CORES JOB_ALLOC_MEM STEP_ALLOC_CORES STEP_ALLOC_MEM SLURM_RESTART_COUNT JOB_ARRAY_ID
JOB_ARRAY_TASK_ID
"""


def test_reference_has_all_of_spank_h() -> None:
    """Each callback, item and function of spank.h of Slurm 26.05 has a row that says since when and where it works."""
    text = reference()["spank-releases"]
    cells = first_cells(text)
    assert len(cells) == len(set(cells))
    assert set(cells) == {
        *(f"slurm_spank_{name}" for name in SPANK_CALLBACKS.split()),
        *(f"S_{name}" for name in SPANK_ITEMS.split()),
        *SPANK_FUNCTIONS.split(),
    }
    for row in re.findall(r"^\| `\w+` .*\|$", text, re.MULTILINE):
        _, _, _, since, *contexts, _ = row.split("|")
        assert re.fullmatch(r" \d\d\.\d\d ", since), row
        assert len(contexts) == len(CONTEXTS)
        assert any(cell.strip() for cell in contexts), row
    assert "| `slurm_spank_init` | `hook.spank.init` | 22.05 | yes | yes | yes | yes |  |" in text
    assert "| `spank_prepend_task_argv` | `spank.prepend_task_argv(argv)` | 23.11 |" in text
    assert "| `slurm_spank_init_failure_mode` | `init_failure_mode= in plugstack.conf` | 25.05 |" in text


@pytest.mark.parametrize(("name", "view"), fields.TABLES.items())
def test_reference_has_every_field(name: str, view: type) -> None:
    """Each field of each view has a row with a description."""
    section = reference()["job-fields"].split(f"\n## {name}\n")[1].split("\n## ")[0]
    cells = first_cells(section)
    others = {"argv", "bounds", "environment", "spank_job_env"}  # properties of the class
    wanted = set(rows.rows(view)) | (others if view is fields.JobFields else set())
    assert len(cells) == len(set(cells))
    assert set(cells) == wanted
    for row in rows.rows(view).values():
        assert row.doc in section
    assert set(cells) <= set(dir(getattr(model, name.capitalize())))


def test_reference_has_every_constant() -> None:
    """Each member of each enumeration has a row."""
    assert set(first_cells(reference()["constants"])) == {
        item for kind in constants.KINDS.values() for item in kind.__members__
    }


def test_reference_has_every_key() -> None:
    """Each key of slurmhooks.toml has a row, below its section."""
    for name, section in config.sections().items():
        part = reference()["configuration"].split(f"\n## [{name}]\n")[1].split("\n## ")[0]
        assert first_cells(part) == list(section.model_fields)


def test_reference_has_every_option() -> None:
    """Each option of each verb has a row, below its verb, and no path of this machine is in it."""
    for verb, command in commands():
        part = reference()["command-line"].split(f"\n## slurmhooks {verb}\n")[1].split("\n## ")[0]
        assert first_cells(part) == [option.opts[0] for option in command.params if isinstance(option, click.Option)]
    assert str(PROJECT) not in "".join(reference().values())
    assert sys.prefix not in "".join(reference().values())
