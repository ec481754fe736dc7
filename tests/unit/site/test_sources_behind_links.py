# SPDX-License-Identifier: GPL-2.0-or-later
"""Hook files of a configuration that is a symbolic link, as bundles and volumes of containers have it."""

from pathlib import Path

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.site import sources as site
from tests.unit.site.conftest import Write, names, of_config

pytestmark = pytest.mark.usefixtures("place_slurm_conf")


def test_a_configuration_that_is_a_link(write: Write, tmp_path: Path) -> None:
    """Names are relative to the file that the link leads to; a dangling link is an error."""
    write("real/slurmhooks.toml", '[hooks]\npaths = ["*.py"]\n[scrun]\nlua = "scrun.site.lua"\n')
    inside = write("real/a.py", "")
    link = tmp_path / "slurmhooks.toml"
    link.symlink_to("real/slurmhooks.toml")
    _, sources = of_config(link)
    assert [source.path for source in sources] == [str(inside)]
    assert [source.path for source in site.sources(str(link))[0]] == [str(inside)]
    assert site.script_of("scrun", str(link)) == str(tmp_path / "real" / "scrun.site.lua")
    (tmp_path / "real" / "slurmhooks.toml").unlink()
    for read in (lambda: of_config(link), lambda: site.sources(str(link))):
        with pytest.raises(ConfigError, match="a symbolic link on the way leads nowhere"):
            read()


NAMES_BESIDE = {
    "a glob": ('[hooks]\npaths = ["hooks.d/*.py"]\n', "hooks.d/a.py"),
    "a file": ('[hooks]\npaths = ["a.py"]\n', "a.py"),
    "packages": ('[hooks]\npackages = ["lib"]\n', "lib/inner.py"),
    "a script of job_submit": ('[job_submit]\nlua = "job_submit.site.lua"\n', "job_submit.site.lua"),
    "a script of scrun": ('[scrun]\nlua = "scrun.site.lua"\n', "scrun.site.lua"),
    "a script of cli_filter": ('[cli_filter]\nlua = "cli_filter.site.lua"\n', "cli_filter.site.lua"),
}


LAYOUTS = {
    "a link": {"slurmhooks.toml": "data/slurmhooks.toml"},
    "the volume of a container": {"slurmhooks.toml": "..data/slurmhooks.toml", "..data": "data"},
    "nested links": {"slurmhooks.toml": "two/slurmhooks.toml", "two/slurmhooks.toml": "../data/slurmhooks.toml"},
}


@pytest.mark.parametrize("both", [False, True], ids=["only there", "in both places"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES_BESIDE)
def test_names_that_seem_to_be_beside_a_link(write: Write, tmp_path: Path, name: str, layout: str, both: bool) -> None:
    """A relative name that leads to other files beside a link than beside its target is an error that names both."""
    text, file = NAMES_BESIDE[name]
    write("data/slurmhooks.toml", text)
    write(file, "")
    if both:
        write(f"data/{file}", "")
    for link, target in LAYOUTS[layout].items():
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(target)
    point = next((point for point in ("scrun", "cli_filter") if f"[{point}]" in text), None)
    launch = site.sources if point is None else (lambda: site.script_of(point))
    reads = [of_config, *([launch] if "job_submit" not in text else [])]
    for read in reads:
        with pytest.raises(LoadError, match="is relative to the file that this is a link to, so it means") as caught:
            read()
        assert f"write {tmp_path}/" in caught.value.findings[0]


def test_names_that_seem_to_be_beside_a_link_on_the_way(write: Write, tmp_path: Path) -> None:
    """Files beside each link are found, wherever it is on the way to the configuration."""
    write("data/slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py"]\n')
    write("data/hooks.d/a.py", "")
    write("two/hooks.d/b.py", "")
    (tmp_path / "two" / "slurmhooks.toml").symlink_to("../data/slurmhooks.toml")
    (tmp_path / "slurmhooks.toml").symlink_to("two/slurmhooks.toml")
    for read in (of_config, site.sources):
        with pytest.raises(LoadError, match=f"and not {tmp_path}/two/hooks.d/b.py: write {tmp_path}/two/hooks"):
            read()


def test_the_link_of_a_bundle(write: Write, tmp_path: Path) -> None:
    """Files beside the link to a deployed bundle are those of the time before, and are no error."""
    write("slurmhooks.d/bundles/0123/slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py"]\n')
    write("slurmhooks.d/bundles/0123/hooks.d/a.py", "")
    write("hooks.d/b.py", "")
    (tmp_path / "slurmhooks.d" / "current").symlink_to("bundles/0123")
    (tmp_path / "slurmhooks.toml").symlink_to("slurmhooks.d/current/slurmhooks.toml")
    assert names(of_config()[1]) == names(site.sources()[0]) == ["a.py"]


def test_a_configuration_beside_the_target_of_slurm_conf(write: Write, tmp_path: Path) -> None:
    """A configuration beside the file that slurm.conf is a link to is an error while none is beside the link."""
    write("shared/slurm.conf", "")
    write("shared/slurmhooks.toml", "")
    (tmp_path / "slurm.conf").symlink_to("shared/slurm.conf")
    for read in (of_config, site.sources):
        with pytest.raises(ConfigError, match=r"slurmhooks.toml: does not exist, but .*shared/slurmhooks.toml does"):
            read()
    write("slurmhooks.toml", "")
    assert site.sources()[0] == of_config()[1] == []


def test_a_volume_that_is_replaced_meanwhile(write: Write, tmp_path: Path) -> None:
    """If the link to the configuration changes after it was resolved, an error is raised.

    Kubernetes replaces a volume by another link, and then removes the old folder.
    """
    text = '[hooks]\npaths = ["*.py"]\n[scrun]\nlua = "a.lua"\n'
    for version in ("1", "2"):
        write(f"{version}/slurmhooks.toml", text)
        write(f"{version}/a.py", "")
        write(f"{version}/a.lua", "")
    (tmp_path / "data").symlink_to("1")
    for name in ("slurmhooks.toml", "a.py"):
        (tmp_path / name).symlink_to(f"data/{name}")
    link = site.config_name()
    resolved = site.located(link)
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to("2")
    # The old file exists, but others beside it may be gone already.
    for _ in range(2):
        for read in (site.sources, lambda path, link: site.script_of("scrun", path, link)):
            with pytest.raises(LoadError, match="was replaced while it was read"):
                read(resolved, link)
        (tmp_path / "1" / "slurmhooks.toml").unlink(missing_ok=True)
