# SPDX-License-Identifier: GPL-2.0-or-later
"""A site with scripts of spank-lua on lines of plugstack.conf, and the records of these scripts."""

from typing import TYPE_CHECKING

from tests.cluster.spank.site import RECORDS, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

LUA_D = "/etc/slurm/lua.d"
LINE = f"required spank_python.so {LUA_D}/*.lua a=1 b=2"


def lua_site(cluster: "Cluster") -> Site:
    """Return a site without hook files."""
    lent = site(cluster)
    lent.hooks()
    # slurmd checks only at its start whether its plugins have job_prolog and job_epilog.
    cluster.restart()
    return lent


def scripts(lent: Site, files: dict[str, str], *lines: str) -> None:
    """Write exactly these scripts and these lines of plugstack.conf."""
    lent.wait_until_idle()
    lent.hooks()
    lent.root(f"rm -rf {LUA_D}; mkdir {LUA_D}")
    for stem, text in files.items():
        lent.cluster.put(text, f"{LUA_D}/{stem}.lua")
    lent.plugstack(*(lines or (LINE,)))
    lent.forget_records()


def rows(lent: Site) -> list[str]:
    """Return the records of scripts."""
    return lent.root(f"cat {RECORDS}").splitlines()
