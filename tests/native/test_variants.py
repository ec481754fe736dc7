# SPDX-License-Identifier: GPL-2.0-or-later
"""Which callbacks each variant of spank_python.so exports, and what happens if one with a handler is missing."""

import subprocess

import pytest

from slurmhooks.hooks.points import POINTS
from slurmhooks.site import variants
from tests.native.hosting import Host
from tests.native.manifests import compile_manifest, launch


def use_variant(host: Host, name: str) -> None:
    """Select another variant of the plugin, as 'slurmhooks install --lean' does."""
    plugin = host.use_copy_of_plugins() / "spank_python.so"
    plugin.unlink()
    plugin.symlink_to(f"slurmhooks/spank_python-{name}.so")


@pytest.mark.parametrize("with_manifest", [True, False], ids=["manifest", "none"])
def test_a_variant_that_lacks_a_callback(host: Host, with_manifest: bool) -> None:
    """A handler of a callback that the plugin does not export is an error, and the log says what to run."""
    host.site("@hook.spank.user_init\ndef user_init(spank):\n    pass")
    use_variant(host, variants.LEAN)
    if with_manifest:
        compile_manifest(host)
    run = launch(host, "remote", "call sp init")
    assert run.one("call").failed
    assert "Slurm would never call handler hooks:user_init" in run
    assert "slurmhooks: the installed plugin leaves out what the hooks need (error " in run
    assert "run 'slurmhooks install' without --lean" in run


def test_slurmd_with_a_variant_that_lacks_a_callback(host: Host) -> None:
    """slurmd starts all the same, and its log says what to run: only launches are refused."""
    host.site("@hook.spank.user_init\ndef user_init(spank):\n    pass")
    use_variant(host, variants.LEAN)
    compile_manifest(host)
    run = launch(host, "slurmd", "call sp init")
    assert run.one("call").rc == 0
    assert "run 'slurmhooks install' without --lean" in run


def test_a_variant_that_has_all_that_is_wanted(host: Host) -> None:
    """The variant that exports the fewest callbacks runs handlers for these callbacks."""
    host.site("hook.spank.task_init(lambda spank: log.info('ran'))")
    use_variant(host, variants.LEAN)
    compile_manifest(host)
    run = launch(host, "remote", "call sp init\ncall sp init_post_opt\ncall sp task_init")
    assert {result.rc for result in run.of("call")} == {0}
    assert run.said("ran") == [""]


def test_what_each_variant_exports(host: Host) -> None:
    """Each variant exports all callbacks but those of which the commands assume that it leaves them out."""
    folder = host.build.plugins
    for name, path in {
        variants.LEAN: folder / "slurmhooks" / f"spank_python-{variants.LEAN}.so",
        "": folder / "spank_python.so",
    }.items():
        # The plugins are not opened, because that needs symbols of Slurm.
        lines = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        symbols = {line.split()[-1] for line in lines.splitlines()}
        exported = {call for call in POINTS["spank"].functions if f"slurm_spank_{call}" in symbols}
        left_out = set(variants.COSTLY_CALLBACKS) - set(variants.exported(name))
        assert exported == set(POINTS["spank"].functions) - left_out, path
