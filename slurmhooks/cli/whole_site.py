# SPDX-License-Identifier: GPL-2.0-or-later
"""Load everything that the daemons of a site would, for `check` and `deploy`."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from slurmhooks.cli import configuration, parameters
from slurmhooks.config import plain
from slurmhooks.entry.scripts_and_rules import of_files, scripts_of
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, plugstack, slurm_conf, trusted
from slurmhooks.files.paths import matches
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Handler, Registry
from slurmhooks.node import ready
from slurmhooks.site import loading
from slurmhooks.site import sources as site
from slurmhooks.site.loading import Configured
from slurmhooks.site.manifest_writer import ManifestLine, Point
from slurmhooks.spank.options import Names, too_many

if TYPE_CHECKING:
    from slurmhooks.config.controller import BurstBuffer
    from slurmhooks.config.model import Config
    from slurmhooks.lua.library import Lua


class Loaded:
    """Everything that the daemons of a site would load.

    Attributes:
        registry: the handlers of the files that slurmhooks.toml names, for all plugin points except SPANK.
        lines: the lines of plugstack.conf with their handlers, for SPANK.
        health: the ready-made health checks.
        health_timeout: seconds for all health checks of a run.
        request_timeout: seconds for a request of job_submit.
        points: the parts of the configuration that scrun, cli_filter and health checks need; none if the configuration
            is invalid.
        burst_buffer: the table of slurmhooks.toml; not set if that is invalid.
        config_files: files that must be readable for the handlers of slurmhooks.toml.
        line_files: the same for each item of ``lines``.
        findings: errors, each once.
        notes: what may be a mistake.
        users: the users of workers, by section of the configuration, if the section names one.
        disabled: what is not loaded, and why: Lua scripts that fail to load here, and files that root must not run.
        lacking: mistakes in lines of plugstack.conf, and lines without hooks, because the set in force does not have
            what they name: launches go on all the same.
    """

    def __init__(self) -> None:
        self.registry = Registry((), ())
        self.lines: list[ManifestLine] = []
        self.health: list[Handler] = []
        self.health_timeout = 0.0
        self.request_timeout = 0.0
        self.points: list[Point] = []
        self.burst_buffer: BurstBuffer
        self.config_files: list[str] = []
        self.line_files: list[list[str]] = []
        self.findings: list[str] = []
        self.notes: list[str] = []
        self.disabled: list[str] = []
        self.lacking: list[str] = []
        self.users: dict[str, str] = {}

    def load(self, sysconfdir: Path) -> None:
        """Load everything that the configuration in ``sysconfdir`` names.

        Changes SLURM_CONF in the environment of this process.
        """
        sys.dont_write_bytecode = True
        parameters.use(sysconfdir)
        guard_as_slurmctld()
        self._guard(self._load_config)
        if os.getuid() == 0:
            guard_as_slurmctld()
            for script in (f"{slurm_conf.directory()}/scrun.lua", *(point.script for point in self.points)):
                if script is not None and os.path.lexists(script):
                    self._guard(partial(trusted.check, script))
            trusted.guard()
        lines = configuration.plugstack_arguments(sysconfdir)
        if len(lines) > len(set(lines)):
            self.notes.append("plugstack.conf has a line for spank_python.so twice: remove one")
        for args in dict.fromkeys(lines):
            self._guard(partial(self._load_line, args))
        self.findings += option_findings(self.lines)
        self.findings = list(dict.fromkeys(self.findings))
        self.notes = list(dict.fromkeys(self.notes))

    def load_files(self, paths: Iterable[Path]) -> None:
        """Load hook files, those in folders, or a slurmhooks.toml with its files; their owners do not matter."""
        sys.dont_write_bytecode = True
        files = []
        given = [os.path.abspath(path) for path in paths]
        for path in given:
            toml = os.path.join(path, site.FILE_NAME) if os.path.isdir(path) else path
            if toml.endswith(".toml") and os.path.exists(toml):
                if len(given) > 1:
                    self.findings.append(f"{toml}: check it alone: it names its hook files itself")
                self._guard(partial(self._load_config_alone, Path(toml)))
                return
            found = loading.files_in(path)
            files += found
            if not found:
                self.findings.append(f"{path}: contains neither {site.FILE_NAME} nor hook files (*.py)")
        self._guard(partial(self._load_alone, files))

    def _load_config_alone(self, link: Path) -> None:
        named = loading.of_config(link, scripts_of)
        self.registry = named.load()
        self.findings += named.give_modes(self.registry)
        self._health(named)
        self.notes += _ended(named.path, named.config)
        self._unmatched(str(named.path), _patterns(named))
        self.notes += self.registry.notes

    def _load_alone(self, files: list[str]) -> None:
        self.registry = of_files(files).load()
        self.notes += self.registry.notes

    def _guard(self, load: Callable[[], None]) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                load()
            except (ConfigError, LoadError) as error:
                self.findings += error.findings
                self.findings += more_faults(error)
        files = {handler.path for registry in self.all_registries() for handler in registry.all_handlers()}
        self.notes += [
            f"{each.filename}:{each.lineno}: {each.category.__name__}: {each.message}"
            for each in caught
            if issubclass(each.category, DeprecationWarning) and each.filename in files
        ]

    def _load_config(self) -> None:
        if home.set_in_force() is None:
            self.notes.append("nothing has been deployed on this machine, so it has no hooks: 'slurmhooks deploy'")
        named = loading.of_config(site.config_path(), scripts_of)
        path, read = named.path, named.config
        self.notes += _ended(path, read)
        sections = {name: getattr(read, name) for name in plain.TABLES}
        self.users = {name: section.user for name, section in sections.items() if getattr(section, "user", None)}
        script = site.script_of("scrun", path, read)
        if script is not None and not os.path.exists(script):
            self.findings.append(f"{script}: does not exist; [scrun] lua of slurmhooks.toml names it")
        self.request_timeout = read.job_submit.timeout
        self.burst_buffer = read.burst_buffer
        if (folder := read.metrics.textfiles) is not None and not os.path.isdir(folder):
            self.notes.append(f"{path}: metrics.textfiles: {folder} is no folder here, so this machine has no metrics")
        self.points = [Point("scrun", named.sources, _log_words(read), script)]
        filters = Point("cli_filter", named.sources, _log_words(read))
        if read.cli_filter.lua is not None:
            filters.sources = [named.scripts[-1], *named.sources]
            filters.lua = self._lua(named.scripts[-1].path).words
        left = refused(named)
        self.disabled += left
        if left:
            return
        self.registry = named.load()
        self.findings += named.give_modes(self.registry)
        self.points[0].registry = filters.registry = self.registry
        self.points += [filters, self._health(named)]
        self.notes += self.registry.notes
        self._unmatched(str(named.path), _patterns(named))
        self.config_files = _files(named)

    def _health(self, named: Configured) -> Point:
        """Return what slurmhooks_health needs, and add findings about the ready-made checks."""
        read = named.config
        own_checks = bool(self.registry.handlers("node.health_check"))
        if not own_checks and isinstance(read, plain.Plain):
            return Point("node", (), _log_words(read))  # its defaults of [node] need the model
        self.health, findings = ready.of_config(read, named.path)
        self.health_timeout = read.node.timeout
        self.findings += findings
        if not self.health and not own_checks:
            return Point("node", (), _log_words(read))
        own = [source for source in named.sources if not source.scripted and source.read is None]
        return Point("node", own, _log_words(read), registry=self.registry, records=ready.records(read))

    def _unmatched(self, where: str, patterns: list[str]) -> None:
        self.notes += [f"{where}: no file matches {pattern}" for pattern in patterns if not matches(pattern)]

    def _load_line(self, args: tuple[str, ...]) -> None:
        name, pattern, _ = plugstack.split(args)
        self.lacking += plugstack.unknown(args)
        folder = home.set_in_force()
        files: list[str] = []
        lacks = site.lacks(name, pattern, folder)
        if lacks and folder is not None:
            self.lacking.append(site.lacking(args))
        elif pattern is not None and not lacks:
            self._unmatched("plugstack.conf", [site.absolute(pattern, folder)])
        named = loading.of_line(args)
        registry = named.load()
        self.notes += registry.notes
        words: tuple[str, ...] = ()
        if named.scripts:
            words, registry = self._add_scripts(registry, named.scripts, args)
        limits: Sequence[str] = ()
        # A line that names its files does not depend on slurmhooks.toml.
        if isinstance(named, Configured):
            self._unmatched(str(named.path), _patterns(named))
            files = _files(named)
            limits = _log_words(named.config)
        self.line_files.append([*files, *loader.files_of(named.all_sources)])
        self.lines.append(ManifestLine(args, named.all_sources, named.rest, registry, words, limits))

    def _add_scripts(
        self, registry: Registry, scripts: list[loader.Source], args: tuple[str, ...]
    ) -> tuple[tuple[str, ...], Registry]:
        """Return the Lua library as words of the manifest, and the registry with the handlers of Lua scripts.

        Scripts that fail to load are added to ``disabled``.
        """
        from slurmhooks.lua import spank as lua

        library = self._lua(scripts[0].path)
        extended = lua.extend(registry, scripts, plugstack.fails_on_error(args), library, self.disabled.append)
        return library.words, extended

    def _lua(self, script: str | None) -> "Lua":
        """Return the Lua that a script runs on.

        Raises:
            LoadError: no Lua is installed.
        """
        from slurmhooks.lua import finding, library

        try:
            return finding.find(site.lua_version())
        except library.NoLuaError as error:
            raise LoadError([f"{script}: {error}"]) from error

    def all_registries(self) -> list[Registry]:
        """Return the registries of the configuration and of each line."""
        return [self.registry, *(line.registry for line in self.lines)]


def guard_as_slurmctld() -> None:
    """Refuse the files that slurmctld would refuse, in processes of root and SlurmUser.

    slurmctld also loads files of SlurmUser; slurmd and slurmstepd load only those of root.
    """
    user = slurm_conf.slurm_user()
    if os.getuid() in (0, user):
        trusted.guard(user)


def _log_words(read: "Config") -> tuple[str, str]:
    """Return level and limit of the log as words of the manifest."""
    return read.log.level, str(read.log.limit)


def refused(named: Configured) -> list[str]:
    """Return a finding for each file that slurmctld may load but root must not: SlurmUser could have written it.

    Afterwards a process of root loads only files of root.
    """
    if os.getuid() != 0:
        return []
    names = [str(named.path), *loader.files_of(named.all_sources)]
    user = slurm_conf.slurm_user()
    trusted.guard(user)
    allowed = [name for name in names if not _is_exposed(name)]
    trusted.guard()
    return [
        f"{name}: SlurmUser (user id {user}) could have written it, so root does not run it:"
        " run this command as SlurmUser"
        for name in allowed
        if _is_exposed(name)
    ]


def _is_exposed(name: str) -> bool:
    try:
        trusted.check(name)
    except LoadError:
        return True
    return False


def _patterns(named: Configured) -> list[str]:
    """Return the file names and globs of a configuration as absolute paths."""
    return [home.placed(pattern, str(named.path.parent)) for pattern in named.config.hooks.paths]


def _files(named: Configured) -> list[str]:
    """Return the files of a configuration that has been loaded, with those of the modules that it has imported."""
    hooks, base = named.config.hooks, str(named.path.parent)
    folders = tuple(f"{home.placed(name, base)}/" for name in hooks.packages)
    modules = []
    for name, module in list(sys.modules.items()):
        # A lazy module (importlib.util.LazyLoader) would be imported if an attribute were read.
        known = object.__getattribute__(module, "__dict__") if issubclass(type(module), ModuleType) else {}
        file = known.get("__file__")
        named_there = any(name == package or name.startswith(f"{package}.") for package in hooks.modules)
        if file is not None and (named_there or (folders and file.startswith(folders))):
            modules.append(file)
    return list(dict.fromkeys([str(named.path), *loader.files_of(named.all_sources), *modules]))


def option_findings(lines: list[ManifestLine]) -> list[str]:
    """Return the options of plugstack.conf that Slurm could not tell apart, and lines with too many options."""
    names = Names()
    options = [option for line in lines for option in line.registry.options if not option.scripted]
    findings = [finding for finding in map(names.clash, options) if finding is not None]
    for line in lines:
        finding = too_many(line.registry)
        if finding is not None:
            findings.append(f"plugstack.conf: {' '.join(line.args)}: {finding}")
    return findings


def _ended(path: Path, read: "Config") -> list[str]:
    """Return a note for each key without effect, each exemption whose last day has passed, and each older name."""
    if isinstance(read, plain.Plain):
        return []
    from slurmhooks.config import model  # needs pydantic, whose import is slow
    from slurmhooks.rules import catalogue, checking, conflicts, lines

    try:
        rules = catalogue.of_config(path, read)
    except ConfigError:  # are findings elsewhere
        rules = []
    return [
        *model.ended(path),
        *checking.ended(path, read.rules.exemptions),
        *lines.notes(path, read.rule),
        *conflicts.notes(path, rules),
    ]


def more_faults(error: ConfigError | LoadError) -> list[str]:
    """Return the findings about rules of a configuration that has other errors, so that all are shown at once."""
    from slurmhooks.config.model import InvalidConfigError

    if not isinstance(error, InvalidConfigError):
        return []
    from slurmhooks.rules import catalogue

    return catalogue.faults(error)
