# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path
from tempfile import NamedTemporaryFile

from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.cli import plugin_files

from .fake_plugin import plugin


def test_the_number_is_what_slurm_finds(tmp_path: Path) -> None:
    """The value comes from where the symbol points to, not from where the file happens to have a number."""
    path = tmp_path / "x.so"
    path.write_bytes(plugin("24.11.5"))
    assert str(plugin_files.release_of(path)) == "24.11.5"
    path.write_bytes(plugin("24.11.5", b"other"))
    assert plugin_files.release_of(path) is None


@given(st.integers(0, 0x500), st.binary(max_size=8), st.booleans())
def test_a_damaged_file_names_no_release(at: int, junk: bytes, cut: bool) -> None:
    """Whatever a file contains, the answer is a release or none, and never an exception."""
    data = plugin("24.11.5")
    with NamedTemporaryFile() as file:
        file.write(data[:at] + junk + (b"" if cut else data[at + len(junk) :]))
        file.flush()
        plugin_files.release_of(Path(file.name))
