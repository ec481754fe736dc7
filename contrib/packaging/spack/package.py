# SPDX-License-Identifier: GPL-2.0-or-later
"""A recipe for Spack; put it into your own repository, as packages/slurmhooks/package.py."""

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Slurmhooks(PythonPackage):
    """Python at the plugin points of Slurm, such as SPANK, job_submit and scrun.

    This installs the Python part and everything that 'slurmhooks build' needs besides Slurm's headers. The plugins are
    not included, because they belong in the PluginDir of a running Slurm: run 'slurmhooks build' and 'slurmhooks
    install' afterwards.
    """

    # From a checkout: 'spack dev-build slurmhooks@main'.
    version("main")

    license("GPL-2.0-or-later")

    with default_args(type="build"):
        depends_on("py-hatchling@1.27:")

    with default_args(type=("build", "run")):
        depends_on("python@3.11:+shared")
        depends_on("py-cffi@1.15:")
        depends_on("py-click@8.1:")
        depends_on("py-lupa@2.0:")
        depends_on("py-prometheus-client@0.21:")
        depends_on("py-pydantic@2.10:")
        depends_on("py-rich@13.0:")
        # Spack's own repository has no recipe for structlog; create one with 'spack create'.
        depends_on("py-structlog@23.1:")

    with default_args(type="run"):
        depends_on("c")
        depends_on("meson@1.1:")
        depends_on("ninja@1.11:")
        depends_on("pkgconfig")
