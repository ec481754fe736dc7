# SPDX-License-Identifier: GPL-2.0-or-later
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.config import model as config
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files.watch import Watch
from slurmhooks.handlers.registry import Handler
from slurmhooks.log import log
from slurmhooks.processes import descriptors
from slurmhooks.processes.settings import Settings
from slurmhooks.site import loading, reload
from slurmhooks.site import sources as site
from tests.sets import put_in_force
from tests.unit.site.conftest import names

Write = Callable[..., Path]
HANDLER = "from slurmhooks import hook\n@hook.job_submit\ndef {}(job): pass\n"
TOML = '[hooks]\npaths = ["hooks.d/*.py"]\n'


def load(findings: tuple[str, ...] = ()) -> Watch:
    """Return the data of a generation in the form that the supervisor gets."""
    watch = Watch()
    try:
        reload.load(site.config_path(), watch, lambda registry: list(findings))
    finally:
        plain = json.loads(json.dumps(watch.plain()))
    return Watch.of(plain)


def labels(watch: Watch) -> list[str]:
    """Return the handlers that were loaded."""
    return [each.label for loaded in watch.handlers.values() for each in loaded]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the configuration into this test's folder, whose files are in force."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    put_in_force(tmp_path)


def test_settings(write: Write) -> None:
    """The processes get the values of the configuration, in their own units."""
    text = '[job_submit]\nworkers = 4\ntimeout = 0.5\nmemory_limit = "512MiB"\non_unavailable = "accept"\n'
    read = config.read(write("slurmhooks.toml", text))
    settings = Settings.read(json.loads(json.dumps(Settings.of(read, "job_submit", "id").document())))
    section = settings.section
    assert settings.hooks == "id"
    assert (section.workers, section.timeout, section.memory_limit) == (4, 0.5, 512 << 20)
    assert (settings.accept, Settings.of(config.Config(), "job_submit", "").section) == (True, Settings().section)
    unlimited = config.read(write("slurmhooks.toml", '[job_submit]\nmemory_limit = "unlimited"'))
    assert Settings.of(unlimited, "job_submit", "").section.memory_limit is None


def test_what_was_loaded(write: Write, tmp_path: Path) -> None:
    """The supervisor learns the configuration and the handlers; both survive JSON."""
    toml = write("slurmhooks.toml", TOML)
    write("hooks.d/a.py", HANDLER.format("f"))
    watch = load()
    assert (watch.configuration, labels(watch)) == (str(toml), ["a:f"])
    assert watch.place == str(tmp_path)


def test_what_replaces_it(write: Write, said: SimpleNamespace) -> None:
    """Another load has what the files say then; the log names the removed handlers, but no renamed files."""
    write("slurmhooks.toml", TOML)
    path = write("hooks.d/a.py", HANDLER.format("f") + HANDLER.format("g"))
    before = load()
    path.unlink()
    write("hooks.d/b.py", HANDLER.format("g"))
    after = load()
    assert labels(after) == ["b:g"]
    said.lines.clear()
    reload.report_change(before.handlers, after.handlers)
    assert said.lines == [
        (1, "slurmhooks: loaded changed hooks: 1 handlers"),
        (1, f"slurmhooks: {path}: no longer in force: job_submit handler a:f"),
    ]


@pytest.mark.parametrize(
    ("toml", "text", "match"),
    [
        (TOML, "1 / 0\n", "ZeroDivisionError"),
        ("[nonsense]\n", "", "unknown key"),
        ('[hooks]\npaths = ["other.py"]\n', "", "no such hook file"),
        ('[hooks]\npaths = ["hooks.d/*.py"]\nrequire = ["a:g"]\n', HANDLER.format("f"), "a:g"),
    ],
)
def test_what_does_not_load(write: Write, toml: str, text: str, match: str) -> None:
    """It is refused with the reason."""
    write("slurmhooks.toml", toml)
    write("hooks.d/a.py", text)
    with pytest.raises((LoadError, ConfigError), match=match):
        load()


LABELS = ("rule:longest", "job_submit.lua:slurm_job_submit", "cli_filter.lua:slurm_cli_f")
OF_CLI_FILTER = '[cli_filter]\nlua = "scripts/cli_filter.lua"\n'


@pytest.mark.parametrize("label", LABELS)
def test_what_another_process_has_to_load(write: Write, label: str) -> None:
    """No plugin and no launch misses a required rule or script that only another plugin loads: deploy has seen it."""
    write("slurmhooks.toml", f'{TOML}require = ["a:f", "{label}"]\n{OF_CLI_FILTER}')
    write("hooks.d/a.py", HANDLER.format("f"))
    for hooks in (("controller_prolog",), ("job_submit",)):
        if hooks == ("job_submit",) and label != LABELS[-1]:
            with pytest.raises(LoadError, match=label):
                reload.load(site.config_path(), Watch(), lambda registry: [], hooks=hooks)
        else:
            reload.load(site.config_path(), Watch(), lambda registry: [], hooks=hooks)
    for named in (loading.of_line(()), loading.of_point("cli_filter", known=None)):
        assert [handler.label for handler in named.load().all_handlers()] == ["a:f"]


def test_a_script_without_a_manifest(write: Write) -> None:
    """A launch for which no manifest fits runs the site's Lua script, too, before hook files of the same order."""
    write("slurmhooks.toml", f"{TOML}{OF_CLI_FILTER}")
    write("hooks.d/a.py", HANDLER.format("f"))
    script = write("scripts/cli_filter.lua", "")
    read: list[Path] = []

    def reader(path: str, _: Sequence[str]) -> list[Handler]:
        read.append(Path(path).resolve())
        return []

    named = loading.of_point("cli_filter", known=None, read=reader)
    assert names(named.sources) == ["cli_filter.lua", "a.py"]
    named.load()
    assert read == [script.resolve()]


def test_what_the_process_cannot_serve_is_a_finding(write: Write) -> None:
    """Findings of the check function are raised like errors in files."""
    write("slurmhooks.toml", TOML)
    write("hooks.d/a.py", HANDLER.format("f"))
    with pytest.raises(LoadError, match="not with this build"):
        load(findings=("not with this build",))


def test_notes_are_logged(write: Write, said: SimpleNamespace) -> None:
    """The log has a note for a file without handlers."""
    write("slurmhooks.toml", TOML)
    write("hooks.d/a.py", "def forgotten(job): ...\n")
    load()
    assert any("note: " in line and "a.py: no handler and no option in it" in line for _, line in said.lines)


def test_nothing_was_deployed(said: SimpleNamespace, tmp_path: Path) -> None:
    """A machine that never had a set, and has no sources, has no hooks, which the log says."""
    (tmp_path / "slurmhooks.set").unlink()
    assert labels(load()) == []
    assert any("nothing has been deployed on this machine" in line for _, line in said.lines)


def test_the_level_of_the_log(write: Write, said: SimpleNamespace) -> None:
    """The level in the configuration takes effect."""
    write("slurmhooks.toml", '[log]\nlevel = "error"\n')
    try:
        load()
        log.info("dropped")
    finally:
        log.limit("debug3")
    assert said.lines == []


def test_documents() -> None:
    """A document of any size is passed through a descriptor, and names that are not UTF-8 survive."""
    content = {"findings": ["x" * 1_000_000], "watch": {"files": ["/caf\udce9.py"]}}
    assert descriptors.values(descriptors.document(content)) == content
