# SPDX-License-Identifier: GPL-2.0-or-later
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from docs import manpages
from slurmhooks._version import __version__

CHECKOUT = Path(__file__).resolve().parents[2]
NEEDED_TO_BUILD = {"meson.build", "meson.options", "generate/bindings.py", "generate/tables.py", "frozen.py"}

pytestmark = pytest.mark.skipif(not (CHECKOUT / "pyproject.toml").exists(), reason="needs the checkout")


def package(kind: str, project: Path, folder: Path, umask: int = 0o022, **environment: str) -> Path:
    """Make a wheel or an sdist without the network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True, umask=umask, env=os.environ | environment)
    [made] = folder.iterdir()
    return made


def names_in(wheel: Path) -> set[str]:
    """List a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a wheel made from the checkout."""
    return package("wheel", CHECKOUT, tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
def test_wheel_can_compile_itself(wheel: Path) -> None:
    """The wheel is pure, and contains the C sources and everything else that `slurmhooks build` needs."""
    assert wheel.name == f"slurmhooks-{__version__}-py3-none-any.whl"
    names = names_in(wheel)
    assert {f"slurmhooks/_native/{name}" for name in NEEDED_TO_BUILD} <= names
    assert any(name.startswith("slurmhooks/_native/") and name.endswith(".c") for name in names)


def test_wheel_is_typed_licensed_and_clean(wheel: Path) -> None:
    """Types and licence are in the wheel; tests, caches and compiled code are not."""
    names = names_in(wheel)
    stubs = {"hooks/decorators.pyi", "spank/items.pyi", "cli_filter/option_fields.pyi"}
    assert {"slurmhooks/py.typed", *(f"slurmhooks/{stub}" for stub in stubs)} <= names
    assert f"slurmhooks-{__version__}.dist-info/licenses/LICENSE" in names
    tops = {"slurmhooks", *(f"slurmhooks-{__version__}.{kind}" for kind in ("dist-info", "data"))}
    assert {name.partition("/")[0] for name in names} == tops
    assert not [name for name in names if "__pycache__" in name or name.endswith((".so", ".o", ".pyc"))]


def test_wheel_has_manual_pages_and_completion(wheel: Path) -> None:
    """pip and packages install the manual pages, and completion of three shells, where man and shells look."""
    share = f"slurmhooks-{__version__}.data/data/share"
    assert {
        *(f"{share}/man/{name}" for name in manpages.pages()),
        f"{share}/bash-completion/completions/slurmhooks",
        f"{share}/zsh/site-functions/_slurmhooks",
        f"{share}/fish/vendor_completions.d/slurmhooks.fish",
    } == {name for name in names_in(wheel) if ".data/" in name}


@pytest.mark.parametrize(
    "name",
    [
        "docs/install.md",
        "docs/architecture.md",
        "contrib/packaging/debian/control",
        "contrib/packaging/slurmhooks.spec",
    ],
)
def test_the_package_of_the_workshop_names_its_commands(name: str) -> None:
    """Packages, and the pages about them, list the commands that the workshop has."""
    text = " ".join((CHECKOUT / name).read_text().replace("`", "").split())
    folder = CHECKOUT / "slurmhooks/workshop/cli/commands"
    *first, last = sorted(path.stem.strip("_") for path in folder.iterdir() if path.stem[0] != "_")
    assert f"the commands {', '.join(first)} and {last}" in text


def test_wheel_runs_from_elsewhere(wheel: Path, tmp_path: Path) -> None:
    """An unpacked wheel finds its own C sources and not those of a checkout."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = "import sys; sys.path.insert(0, sys.argv[1])\n"
    code += "from slurmhooks.cli import toolchain; print(toolchain.native_sources())"
    done = subprocess.run([sys.executable, "-I", "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "slurmhooks" / "_native")


@pytest.mark.slow
def test_builds_are_reproducible(wheel: Path, tmp_path: Path) -> None:
    """Wheel and sdist have the same bytes, whoever builds them, anywhere, at any time, and with any file modes."""
    names = "checkout", "unpacked", "sdist", "wheel"
    first, unpacked, *again = folders = [tmp_path / name for name in names]
    for folder in folders:
        folder.mkdir()
    sdist = package("sdist", CHECKOUT, first)
    # Modes as after "umask 077", and other times, as if another user had built it elsewhere.
    command = ["tar", "-xmf", str(sdist), "-C", str(unpacked), "--no-same-owner", "--no-same-permissions"]
    subprocess.run(command, check=True, umask=0o077)
    [project] = unpacked.iterdir()
    assert {"LICENSE", "Makefile", "native", "tests", "changelog.d"} <= {path.name for path in project.iterdir()}
    environment = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    for kind, before, folder in (("sdist", sdist, again[0]), ("wheel", wheel, again[1])):
        after = package(kind, project, folder, umask=0o077, **environment)
        assert (after.name, after.read_bytes() == before.read_bytes()) == (before.name, True)


@pytest.mark.moved
@pytest.mark.slow
def test_wheel_installs_without_the_network(wheel: Path, tmp_path: Path) -> None:
    """pip installs the wheel and its dependencies from a folder of wheels, and the command runs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "slurmhooks", "wheels")
    wheels = cache / f"venv-{sys.version_info.major}.{sys.version_info.minor}"
    if not any(wheels.glob("pydantic_core-*.whl")):
        pytest.skip(f"NO OFFLINE INSTALLATION WAS TESTED: {wheels} has no wheels, which 'make venv' keeps there")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(tmp_path / "venv"), "install", "--quiet", "--no-compile"]
    command = [*pip, "--no-index", "--find-links", str(wheels), str(wheel)]
    subprocess.run(command, check=True, env={"PATH": os.environ["PATH"]})
    command = [str(tmp_path / "venv/bin/slurmhooks"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert __version__ in done.stdout


@pytest.mark.skipif(shutil.which("rpmspec") is None, reason="rpmspec is missing: install rpm (Debian), rpm-build")
def test_spec_for_a_second_python() -> None:
    """With python3_pkgversion all packages, programs and scripts are those of this Python, and none of the system's."""
    spec = CHECKOUT / "contrib" / "packaging" / "slurmhooks.spec"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    done = subprocess.run(
        ["rpmspec", "--define", f"python3_pkgversion {version}", "--parse", spec],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    named = set(re.findall(r"^(?:Build)?Requires: +(python\S+)", done.stdout, re.MULTILINE))
    assert f"python{version}-devel" in named
    assert {name for name in named if not name.startswith(f"python{version}")} == set()
    used = re.findall(r"/usr/bin/python\S*?(?=[\s,])", done.stdout)
    # The script for all packages names the system's, which is replaced.
    assert set(used) == {f"/usr/bin/python{version}", "/usr/bin/python3"}
    assert done.stdout.count("/usr/bin/python3\n") + done.stdout.count("/usr/bin/python3 ") == 0
    assert f"s,--python /usr/bin/python3,--python /usr/bin/python{version}," in done.stdout
    assert "--python /usr/bin/python3 " in (CHECKOUT / "contrib" / "packaging" / "build-plugins").read_text()
