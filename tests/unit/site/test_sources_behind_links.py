# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files of a configuration that is a symbolic link, as volumes of containers have it."""

from pathlib import Path

import pytest

from slurmhooks.errors import ConfigError
from slurmhooks.site import sources as site
from tests.unit.site.conftest import Write, of_config

pytestmark = pytest.mark.usefixtures("place_slurm_conf")


def test_a_configuration_that_is_a_link(write: Write, tmp_path: Path) -> None:
    """Names are relative to the file that the link leads to; a dangling link is an error."""
    write("real/slurmhooks.toml", '[hooks]\npaths = ["*.py"]\n[scrun]\nlua = "scrun.site.lua"\n')
    inside = write("real/a.py", "")
    link = tmp_path / "slurmhooks.toml"
    link.symlink_to("real/slurmhooks.toml")
    _, sources = of_config(link)
    assert [source.path for source in sources] == [str(inside)]
    assert site.script_of("scrun", *site.located_config(link)) == str(tmp_path / "real" / "scrun.site.lua")
    (tmp_path / "real" / "slurmhooks.toml").unlink()
    with pytest.raises(ConfigError, match="a symbolic link on the way leads nowhere"):
        of_config(link)
